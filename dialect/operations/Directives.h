// Directives.h - custom parts of assembly formats; tablegen's parsers and printers call them by
// name.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// `%column -> %coefficient, ...`
mlir::ParseResult parseSparse(mlir::OpAsmParser &parser, llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &columns,
                            llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &coefficients);
void printSparse(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::ValueRange columns, mlir::ValueRange coefficients);
/// `["max" : f32, "sum" : f32]`
mlir::ParseResult parseNamedTypes(mlir::OpAsmParser &parser, mlir::ArrayAttr &names, mlir::ArrayAttr &types);
void printNamedTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::ArrayAttr names, mlir::ArrayAttr types);
/// `<TM = 512, acc = f32>`
mlir::ParseResult parseBindings(mlir::OpAsmParser &parser, mlir::DictionaryAttr &bindings);
void printBindings(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::DictionaryAttr bindings);
/// `"z"`, `@sweep[1]` or `"targets"[2]`
mlir::ParseResult parseOwner(mlir::OpAsmParser &parser, mlir::Attribute &owner, mlir::IntegerAttr &number);
void printOwner(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Attribute owner, mlir::IntegerAttr number);
/// `init {...} candidate {...} update {...} merge {...}`
mlir::ParseResult parseStateRegions(mlir::OpAsmParser &parser, mlir::Region &init, mlir::Region &candidate, mlir::Region &update,
                                    mlir::Region &merge);
void printStateRegions(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Region &init, mlir::Region &candidate, mlir::Region &update,
                     mlir::Region &merge);
/// `(state), (inputs) entries (entries)`. Results have the types of the state.
mlir::ParseResult parseUpdateTypes(mlir::OpAsmParser &parser, llvm::SmallVectorImpl<mlir::Type> &state,
                                   llvm::SmallVectorImpl<mlir::Type> &inputs, llvm::SmallVectorImpl<mlir::Type> &results,
                                   llvm::SmallVectorImpl<mlir::Type> &entries);
void printUpdateTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::TypeRange state, mlir::TypeRange inputs, mlir::TypeRange results,
                      mlir::TypeRange entries);
/// An integer or a word in capitals.
mlir::ParseResult parseDim(mlir::OpAsmParser &parser, mlir::Attribute &dim);
void printDim(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Attribute dim);
} // namespace logitile

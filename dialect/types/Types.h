// Types.h - the classes of the dialect itself, of its attributes and of its types.
#pragma once
#include "dialect/types/Enums.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

namespace logitile {
/// What a bundle stands for: values first, memory after. See the table of BundleType.
enum class BundleKind {
  Logits,
  Grads,
  VocabGrads,
  DenseGrads,
  RowState,
  Inputs,
  Results,
  Bases,
  Centres,
  Factors,
  Hiddens,
  Weights,
  LogitViews,
  BaseViews,
  CentreViews,
  StoredViews,
  GradViews,
  VocabGradViews,
  DenseGradViews,
  InputViews,
  StateViews,
  ListViews,
  PickViews,
  PlaceViews,
  ResultViews,
  SparseViews,
  ExtractedViews,
  ClearedViews,
  ListedViews,
  FactorViews,
  RowMaps
};
#include "dialect/EnumText.h.inc"
template <HasWords Enum>
llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, Enum value) {
  return stream << wordOf(value);
}
} // namespace logitile

#include "dialect/LogitileDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/LogitileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/LogitileTypes.h.inc"

namespace logitile {
/// Name of the module attribute that holds the RequestAttr.
constexpr llvm::StringLiteral kRequestAttrName = "logitile.request";
/// Whether there may be several inputs of this kind: of the others there is one for a call.
constexpr bool hasName(InputKind kind) { return kind != InputKind::SliceOffset && kind != InputKind::TokenIndex; }
/// Left on the module by choose-schedule where the byte budget is too small: the smallest that
/// would do.
constexpr llvm::StringLiteral kMinimumWorkspaceAttrName = "logitile.minimum_workspace";
/// Left there where a schedule was found: what the cost model says of a call with the tokens of the
/// request.
constexpr llvm::StringLiteral kPredictedSecondsAttrName = "logitile.predicted_seconds";

/// The request attached to 'module', or null.
RequestAttr getRequest(mlir::ModuleOp module);

/// A dimension is an IntegerAttr (ShapedType::kDynamic for '?') or a SymbolicDimAttr; equal
/// attributes, equal dimensions.
mlir::Attribute dimension(mlir::MLIRContext *context, int64_t extent);
/// Capitals name a dimension of a template, small letters an element type.
bool isNameOfDim(llvm::StringRef name);
bool isNameOfType(llvm::StringRef name);
/// Parses and prints a dimension: an integer or a word in capitals.
mlir::ParseResult parseDimension(mlir::AsmParser &parser, mlir::Attribute &dim);
void printDimension(mlir::AsmPrinter &printer, mlir::Attribute dim);
/// Names of the symbols that 'type' still uses.
void collectSymbols(mlir::Type type, llvm::SmallVectorImpl<llvm::StringRef> &symbols);
/// The word of a bundle in types: "logits", "state_views".
llvm::StringRef stringifyBundleKind(BundleKind kind);
} // namespace logitile

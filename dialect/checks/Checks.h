// Checks.h - checks that ops of several levels share. Checks of one op are in the file of that op.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// "token 'targets'[1]", as errors say it.
std::string describe(InputKind kind, llvm::StringRef name, std::optional<int64_t> index = {});
/// Types of an array of type attributes.
llvm::SmallVector<mlir::Type> typesOf(mlir::ArrayAttr types);

/// Only token inputs have entries, counted from 0.
mlir::LogicalResult verifyIndex(mlir::Operation *op, InputKind kind, llvm::StringRef name, std::optional<int64_t> index);
/// Every use of a name below 'op' has the same kind and type; but cotangents have the names of
/// outputs, which inputs may have too.
mlir::LogicalResult verifyInputNames(mlir::Operation *op);
/// No name stands twice in 'names'.
mlir::LogicalResult verifyUnique(mlir::Operation *op, llvm::StringRef what, mlir::ArrayAttr names);
/// An attribute that stands for a dimension is a positive integer or a symbol.
mlir::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef name, mlir::Attribute dim);

/// An elementwise op or a constant on scalars of f32, i32 and i1: what can become vector code.
bool isScalarMaths(mlir::Operation *op);
/// The block of 'region' takes 'arguments', and its yield gives 'results'.
mlir::LogicalResult verifySignature(mlir::Operation *op, llvm::StringRef name, mlir::Region &region, mlir::TypeRange arguments,
                                    mlir::TypeRange results);
} // namespace logitile

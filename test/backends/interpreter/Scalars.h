// Scalars.h - the value of a scalar region, one number at a time.
#pragma once
#include "dialect/Logitile.h"

namespace logitile::interpreter {
/// A number of any element type: each f32 and i32 is one, and results of f32 operations are rounded
/// to f32.
using Number = double;
using Numbers = llvm::SmallVector<Number>;

/// What a region yields for these values of its arguments, 'column' being that of the element.
Numbers evaluate(mlir::Region &region, llvm::ArrayRef<Number> arguments, int64_t column = 0);
/// Whether 'evaluate' knows an operation.
bool isScalarOp(mlir::Operation *op);
} // namespace logitile::interpreter

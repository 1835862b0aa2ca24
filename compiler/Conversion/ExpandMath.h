// ExpandMath.h - expresses ops of the language that MLIR does not have with arith and math, and
// says which ops are expensive.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace logitile {
/// `multiply_no_nan`, `sigmoid`, `softplus` and `uniform` on operands that are scalars or vectors;
/// null for every other op.
mlir::Value expandLogitileOp(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);
/// Whether an op becomes the arithmetic of an elementary function: many ops on one number.
bool isElementary(mlir::Operation *op);
/// Whether an op is an exponential that the instruction for 2^x may make.
bool mayBeApproximate(mlir::Operation *op);
} // namespace logitile

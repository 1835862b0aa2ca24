// ExpandMath.h - ops of the language that MLIR does not have, in terms of arith and math, and which
// ops cost most.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace logitile {
/// `multiply_no_nan`, `sigmoid`, `softplus` and `uniform` on operands that are scalars or vectors;
/// null for every other op.
mlir::Value expandLogitileOp(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);
/// Whether an op becomes the arithmetic of an elementary function: many ops on one number.
bool isElementary(mlir::Operation *op);
} // namespace logitile

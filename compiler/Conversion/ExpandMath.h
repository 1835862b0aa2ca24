// ExpandMath.h - ops of the language that MLIR does not have, in terms of arith and math.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace logitile {
/// `weigh`, `sigmoid` and `softplus` on operands that are scalars or vectors; null for every other op.
mlir::Value expandLogitileOp(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);
} // namespace logitile

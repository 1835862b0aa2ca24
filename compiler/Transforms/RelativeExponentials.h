// RelativeExponentials.h - finds exponentials that are at most 1, by their structure.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace logitile {
/// The exponentials of one update whose exponent is relative to a running maximum, or a multiple of
/// that by a constant.
llvm::SmallVector<mlir::math::ExpOp> findRelativeExponentials(UpdateStateOp update);
} // namespace logitile

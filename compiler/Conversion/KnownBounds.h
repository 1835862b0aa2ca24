// KnownBounds.h - values of an update that its bounds have computed already. A conversion that makes the bounds first can
// keep them.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// 'value', of the update region, is the candidate of maximum number 'maximum'.
struct KnownBound {
  unsigned maximum;
  mlir::Value value;
};

/// The candidates of 'op' that its update computes again, where that takes an elementary function for each vocabulary entry:
/// others cost no more than memory does.
llvm::SmallVector<KnownBound> findKnownBounds(UpdateRowsOp op);
} // namespace logitile

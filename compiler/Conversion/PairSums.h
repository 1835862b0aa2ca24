// PairSums.h - sums of a row state that are pairs of floats: a sum, and what it lost to rounding.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Slots 'high' and 'low' of the row state become the pair high + low + term by Dekker's fast
/// two-sum, which takes four operations. 'term' is a value of the update region.
struct PairSum {
  unsigned high, low;
  mlir::Value term;
};

/// The slots of 'op' whose update is such a sum and has no other use. The term does not depend on
/// slots that change from column to column.
llvm::SmallVector<PairSum> findPairSums(UpdateStateOp op);
} // namespace logitile

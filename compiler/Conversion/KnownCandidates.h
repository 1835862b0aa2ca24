// KnownCandidates.h - values that the update region of a row state computes although the candidate
// region has computed them. A conversion that evaluates the candidates first can store these values
// for the update.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// 'value', in the update region, equals the candidate of maximum number 'maximum'.
struct KnownCandidate {
  unsigned maximum;
  mlir::Value value;
};

/// The candidates of 'op' that its update computes once more and that take an elementary function
/// for each vocabulary entry. Computing any other candidate takes no longer than loading it.
llvm::SmallVector<KnownCandidate> findKnownCandidates(UpdateStateOp op);
} // namespace logitile

// KnownCandidates.h - values of an update that its candidates have already computed. A conversion
// that computes the candidates first can keep them.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// 'value', of the update region, is the candidate of maximum number 'maximum'.
struct KnownCandidate {
  unsigned maximum;
  mlir::Value value;
};

/// The candidates of 'op' that its update computes again, where that takes an elementary function
/// for each vocabulary entry: others cost no more than memory does.
llvm::SmallVector<KnownCandidate> findKnownCandidates(UpdateStateOp op);
} // namespace logitile

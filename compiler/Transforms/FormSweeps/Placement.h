// Placement.h - which sweep computes which accumulator: forward, backward, or fused in the gradient
// pass.
#pragma once
#include "compiler/Transforms/FormSweeps/Planner.h"

namespace logitile {
/// The gradient of one input, as nodes.
struct GradientNodes {
  InputKind kind;
  llvm::StringRef name;
  int64_t index = -1, places = 0; // the entry of a token input; of an input that is read as a list, how many places it has
  NodeRef dense = nullptr;
  llvm::SmallVector<std::pair<NodeRef, NodeRef>> rows; // column, coefficient
  mlir::Location loc;

  /// One value per token or for the call: read by no kernel that runs over the vocabulary.
  bool isPerToken() const { return kind == InputKind::Token || kind == InputKind::Scalar; }
  /// The runtime fills the gradient with zeros: no kernel needs its memory, which the call has only
  /// for inputs that kernels read.
  bool isOfInputThatNothingReaches() const {
    bool isReached = !rows.empty() || (dense && !dense->isConstant(0));
    return !isReached && (kind == InputKind::Vocab || kind == InputKind::Dense);
  }
};

using SweepAccumulators = llvm::SmallVector<Accumulator *>;
struct Placement {
  llvm::SmallVector<SweepAccumulators> forward, backward;
  /// Sums that only gradients per token read: made verbatim while the gradient is made.
  llvm::SmallVector<std::pair<NodeRef, Accumulator *>> fused;
};

/// 1. Forward sweeps hold what outputs reach. 2. What a gradient per element needs joins a forward
/// sweep where its level allows, else a backward sweep. 3. A sum that only a gradient per token
/// needs, and whose accumulators are not there yet, is fused; of slices it is not, for the gradient
/// pass has nothing to merge behind it.
Placement placeAccumulators(Planner &planner, llvm::ArrayRef<std::pair<llvm::StringRef, NodeRef>> outputs,
                            llvm::ArrayRef<GradientNodes> gradients);
} // namespace logitile

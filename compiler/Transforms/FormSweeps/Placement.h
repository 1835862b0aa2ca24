// Placement.h - which sweep computes which accumulator: forward, backward, or fused in the gradient
// pass.
#pragma once
#include "compiler/Transforms/FormSweeps/Planner.h"

namespace logitile {
/// The gradient of one input, as nodes.
struct GradientNodes {
  InputKind kind;
  llvm::StringRef name;
  int64_t index = -1; // which entry of a Token[..., K] input this is the gradient of; -1: no single entry
  int64_t places = 0; // of an input that is read as a list: how many places it has
  NodeRef dense = nullptr;
  llvm::SmallVector<std::pair<NodeRef, NodeRef>> rows; // column, coefficient
  mlir::Location loc;

  /// Whether it has one value per token, or one per call. No kernel that runs over the vocabulary
  /// computes such a gradient.
  bool isPerToken() const { return kind == InputKind::Token || kind == InputKind::Scalar; }
  /// Whether the gradient of a Vocab or Dense input is 0 everywhere. Then the runtime fills it with
  /// zeros, and no kernel writes it.
  bool isOfInputThatNothingReaches() const {
    bool isReached = !rows.empty() || (dense && !dense->isConstant(0));
    return !isReached && (kind == InputKind::Vocab || kind == InputKind::Dense);
  }
};

using SweepAccumulators = llvm::SmallVector<Accumulator *>;
struct Placement {
  llvm::SmallVector<SweepAccumulators> forward, backward;
  /// Sums over the vocabulary that only gradients per token read. The pass that computes the
  /// gradient of the logits adds them up too, and evaluates their terms as they are written.
  llvm::SmallVector<std::pair<NodeRef, Accumulator *>> fused;
};

/// Chooses a sweep for each accumulator:
/// 1. Accumulators that outputs need are computed by forward sweeps.
/// 2. Accumulators that other gradients need are computed by a forward sweep if there is one of
///    their level, else by a backward sweep. Other gradients are those with a value per entry.
/// 3. A sum that only gradients per token need is fused, if accumulators of it are missing so far.
///    If the vocabulary is in slices, it is not fused: its parts have to be merged, and no merge
///    comes after the gradient pass.
Placement placeAccumulators(Planner &planner, llvm::ArrayRef<std::pair<llvm::StringRef, NodeRef>> outputs,
                            llvm::ArrayRef<GradientNodes> gradients);
} // namespace logitile

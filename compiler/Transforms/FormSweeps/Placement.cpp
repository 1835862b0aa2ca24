// Placement.cpp - distributes accumulators over sweeps.
#include "compiler/Transforms/FormSweeps/Placement.h"
#include "llvm/ADT/STLExtras.h"
using namespace logitile;

using AccumulatorMap = std::map<unsigned, Accumulator *>;

namespace {
class Placer {
public:
  explicit Placer(Planner &planner) : planner(planner) {}

  Placement run(llvm::ArrayRef<std::pair<llvm::StringRef, NodeRef>> outputs, llvm::ArrayRef<GradientNodes> gradients) {
    llvm::SmallVector<NodeRef> roots;
    for (auto [unused, node] : outputs) {
      planner.level(node);
      roots.push_back(node);
    }
    forward = planner.reach(roots);
    llvm::SmallVector<NodeRef> perElement, perToken;
    for (const GradientNodes &gradient : gradients)
      collect(gradient, gradient.isPerToken() ? perToken : perElement);
    needed = planner.reach(perElement);
    for (NodeRef node : perToken)
      addPerToken(node);
    // What another sweep makes or reads has to be there before the gradient pass.
    for (auto [reduction, accumulator] : placement.fused)
      if (forward.count(accumulator->number) || needed.count(accumulator->number))
        planner.resolveVerbatim(reduction);
    llvm::erase_if(placement.fused, [&](auto &fused) { return !isMissing(fused.first); });
    return distribute();
  }

private:
  void collect(const GradientNodes &gradient, llvm::SmallVectorImpl<NodeRef> &roots) {
    if (gradient.dense)
      roots.push_back(gradient.dense);
    for (auto [column, coefficient] : gradient.rows) {
      roots.push_back(column);
      roots.push_back(coefficient);
    }
    for (NodeRef node : roots)
      planner.level(node);
  }

  void need(NodeRef node) {
    for (auto [number, accumulator] : planner.reach(node))
      needed.try_emplace(number, accumulator);
  }
  bool isMissing(NodeRef reduction) {
    return llvm::any_of(planner.reach(reduction),
                        [&](auto &accumulator) { return !forward.count(accumulator.first) && !needed.count(accumulator.first); });
  }
  void addPerToken(NodeRef node) {
    for (NodeRef reduction : planner.directReductions(node)) {
      if (!isMissing(reduction))
        continue;
      if (!reduction->is(NodeOp::Sum) || planner.isSliced) {
        need(reduction);
        continue;
      }
      if (llvm::none_of(placement.fused, [&](auto &fused) { return fused.first == reduction; })) {
        placement.fused.push_back({reduction, planner.verbatim(reduction)});
        need(reduction->operand(0));
      }
    }
  }

  Placement distribute() {
    unsigned depth = 0;
    for (auto [unused, accumulator] : forward)
      depth = std::max(depth, accumulator->level);
    placement.forward.resize(depth);
    for (auto [unused, accumulator] : forward)
      placement.forward[accumulator->level - 1].push_back(accumulator);
    for (auto [number, accumulator] : needed) {
      if (forward.count(number))
        continue;
      if (accumulator->level <= depth)
        placement.forward[accumulator->level - 1].push_back(accumulator);
      else
        backward.try_emplace(number, accumulator);
    }
    for (auto [unused, accumulator] : backward) {
      unsigned sweep = backwardSweep(accumulator);
      if (placement.backward.size() < sweep)
        placement.backward.resize(sweep);
      placement.backward[sweep - 1].push_back(accumulator);
    }
    return std::move(placement);
  }

  /// 1 + the last backward sweep that it reads.
  unsigned backwardSweep(Accumulator *accumulator) {
    if (unsigned known = sweeps.lookup(accumulator))
      return known;
    unsigned below = 0;
    for (NodeRef body : accumulator->bodies())
      for (auto [number, other] : planner.reach(body))
        if (backward.count(number))
          below = std::max(below, backwardSweep(other));
    sweeps[accumulator] = 1 + below;
    return 1 + below;
  }

  Planner &planner;
  AccumulatorMap forward, needed, backward;
  llvm::DenseMap<Accumulator *, unsigned> sweeps;
  Placement placement;
};
} // namespace

Placement logitile::placeAccumulators(Planner &planner, llvm::ArrayRef<std::pair<llvm::StringRef, NodeRef>> outputs,
                                      llvm::ArrayRef<GradientNodes> gradients) {
  return Placer(planner).run(outputs, gradients);
}

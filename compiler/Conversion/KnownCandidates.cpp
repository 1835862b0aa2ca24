// KnownCandidates.cpp - finds the candidates' values in an update.
#include "compiler/Conversion/KnownCandidates.h"
#include "compiler/Conversion/ExpandMath.h"
#include "compiler/Support/MatchValues.h"
#include "llvm/ADT/DenseSet.h"
using namespace mlir;
using namespace logitile;

namespace {
/// Values of the candidates, to those of the update that are made in the same way from the same
/// inputs.
IRMapping matchCandidates(UpdateStateOp op) {
  Block &candidates = op.getCandidate().front(), &update = op.getUpdate().front();
  IRMapping inputs;
  inputs.map(candidates.getArguments(), update.getArguments().drop_front(op.getState().size()));
  return matchValues(candidates, update, inputs);
}

/// Values of the candidates that take an elementary function of something that differs along the
/// vocabulary.
llvm::DenseSet<Value> findCostly(UpdateStateOp op) {
  Block &candidates = op.getCandidate().front();
  llvm::DenseSet<Value> varying, costly;
  for (auto [argument, input] : llvm::zip_equal(candidates.getArguments(), op.getInputs()))
    if (cast<TileType>(input.getType()).getExtent(1) > 1)
      varying.insert(argument);
  for (Operation &known : candidates.without_terminator()) {
    auto isIn = [&](const llvm::DenseSet<Value> &set) {
      return llvm::any_of(known.getOperands(), [&](Value v) { return set.contains(v); });
    };
    if (!isIn(varying) && !isa<ColumnOp>(known))
      continue;
    varying.insert(known.getResult(0));
    if (isIn(costly) || isElementary(&known))
      costly.insert(known.getResult(0));
  }
  return costly;
}
} // namespace

SmallVector<KnownCandidate> logitile::findKnownCandidates(UpdateStateOp op) {
  IRMapping matches = matchCandidates(op);
  llvm::DenseSet<Value> costly = findCostly(op);
  SmallVector<KnownCandidate> found;
  for (auto [maximum, candidate] : llvm::enumerate(op.getCandidate().front().getTerminator()->getOperands()))
    if (Value value = matches.lookupOrNull(candidate); value && costly.contains(candidate))
      found.push_back({static_cast<unsigned>(maximum), value});
  return found;
}

// KnownBounds.cpp - finds in an update the values that its bounds are.
#include "compiler/Conversion/KnownBounds.h"
#include "compiler/Conversion/ExpandMath.h"
#include "compiler/Support/MatchValues.h"
#include "llvm/ADT/DenseSet.h"
using namespace mlir;
using namespace logitile;

namespace {
/// Values of the bounds, to those of the update that are made in the same way from the same inputs.
IRMapping matchBounds(UpdateRowsOp op) {
  Block &bound = op.getBound().front(), &update = op.getUpdate().front();
  IRMapping inputs;
  inputs.map(bound.getArguments(), update.getArguments().drop_front(op.getRows().size()));
  return matchValues(bound, update, inputs);
}

/// Values of the bounds that take an elementary function of something that differs along the vocabulary.
llvm::DenseSet<Value> findCostly(UpdateRowsOp op) {
  Block &bound = op.getBound().front();
  llvm::DenseSet<Value> varying, costly;
  for (auto [argument, input] : llvm::zip_equal(bound.getArguments(), op.getInputs()))
    if (cast<TileType>(input.getType()).getExtent(1) > 1)
      varying.insert(argument);
  for (Operation &known : bound.without_terminator()) {
    auto isIn = [&](const llvm::DenseSet<Value> &set) { return llvm::any_of(known.getOperands(), [&](Value v) { return set.contains(v); }); };
    if (!isIn(varying) && !isa<ColumnOp>(known))
      continue;
    varying.insert(known.getResult(0));
    if (isIn(costly) || isElementary(&known))
      costly.insert(known.getResult(0));
  }
  return costly;
}
} // namespace

SmallVector<KnownBound> logitile::findKnownBounds(UpdateRowsOp op) {
  IRMapping matches = matchBounds(op);
  llvm::DenseSet<Value> costly = findCostly(op);
  SmallVector<KnownBound> found;
  for (auto [maximum, candidate] : llvm::enumerate(op.getBound().front().getTerminator()->getOperands()))
    if (Value value = matches.lookupOrNull(candidate); value && costly.contains(candidate))
      found.push_back({static_cast<unsigned>(maximum), value});
  return found;
}

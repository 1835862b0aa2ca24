// PairSums.cpp - matches the operations of a fast two-sum.
#include "compiler/Conversion/PairSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"
using namespace mlir;
using namespace logitile;

namespace {
/// The other operand of a sum or difference whose one operand is 'known'; null for any other value.
template <typename OpT> Value otherOperand(Value value, Value known, unsigned place) {
  auto op = value.getDefiningOp<OpT>();
  return op && op->getOperand(place) == known ? op->getOperand(1 - place) : Value();
}

/// The slot whose update adds what the sum 'total' = 'high' + 'term' has lost.
std::optional<unsigned> findLow(Block &update, unsigned slots, Value total, Value high, Value term) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    Value lost = otherOperand<arith::AddFOp>(update.getTerminator()->getOperand(slot), update.getArgument(slot), 0);
    Value added = lost ? otherOperand<arith::SubFOp>(lost, term, 0) : Value();
    if (added && otherOperand<arith::SubFOp>(added, total, 0) == high)
      return slot;
  }
  return std::nullopt;
}

/// Whether only the four operations of the two-sum use the pair and its sum: no other one needs
/// what they are at each column.
bool areUsedAlone(Block &update, unsigned high, unsigned low, Value total) {
  auto countUses = [](Value value) { return std::distance(value.use_begin(), value.use_end()); };
  return countUses(update.getArgument(high)) == 2 && countUses(update.getArgument(low)) == 1 && countUses(total) == 2;
}

/// What the update computes from slots that it changes.
llvm::DenseSet<Value> findChanging(Block &update, unsigned slots) {
  llvm::DenseSet<Value> changing;
  for (BlockArgument slot : update.getArguments().take_front(slots))
    if (update.getTerminator()->getOperand(slot.getArgNumber()) != slot)
      changing.insert(slot);
  for (Operation &op : update.without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return changing.contains(operand); }))
      changing.insert(op.getResult(0));
  return changing;
}
} // namespace

SmallVector<PairSum> logitile::findPairSums(UpdateStateOp op) {
  Block &update = op.getUpdate().front();
  unsigned slots = op.getState().size();
  llvm::DenseSet<Value> changing = findChanging(update, slots);
  SmallVector<PairSum> sums;
  for (BlockArgument high : update.getArguments().take_front(slots)) {
    Value total = update.getTerminator()->getOperand(high.getArgNumber());
    Value term = otherOperand<arith::AddFOp>(total, high, 0);
    if (!term || changing.contains(term))
      continue;
    std::optional<unsigned> low = findLow(update, slots, total, high, term);
    if (low && areUsedAlone(update, high.getArgNumber(), *low, total))
      sums.push_back({high.getArgNumber(), *low, term});
  }
  return sums;
}

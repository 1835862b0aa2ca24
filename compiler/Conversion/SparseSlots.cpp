// SparseSlots.cpp - recognises sparse updates from the structure of the update region, and prints
// them for tests.
#include "compiler/Conversion/SparseSlots.h"
#include "compiler/Passes.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_PRINTSPARSESLOTSPASS
#include "compiler/Passes.h.inc"

namespace {
/// Whether 'value' is made of nothing but constants, the column where `mayVary`, and arguments that
/// 'allowed' accepts.
bool isMadeOf(Value value, bool mayVary, function_ref<bool(BlockArgument)> allowed) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return allowed(argument);
  Operation *op = value.getDefiningOp();
  if (isa<ColumnOp>(op))
    return mayVary;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isMadeOf(operand, mayVary, allowed); });
}

/// The comparison of the column with a number that decides that 'condition' holds ('wanted' is
/// true) or does not hold.
arith::CmpIOp findComparison(Value condition, bool wanted) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>(); both && wanted) {
    arith::CmpIOp comparison = findComparison(both.getLhs(), true);
    return comparison ? comparison : findComparison(both.getRhs(), true);
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  bool isOfColumn = compare && (compare.getLhs().getDefiningOp<ColumnOp>() || compare.getRhs().getDefiningOp<ColumnOp>());
  return isOfColumn && compare.getPredicate() == (wanted ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne) ? compare : arith::CmpIOp();
}

std::optional<SparseSlot> matchSlot(UpdateStateOp op, unsigned slot) {
  Block &block = op.getUpdate().front();
  unsigned stateSize = op.getState().size();
  BlockArgument old = block.getArgument(slot);
  auto select = block.getTerminator()->getOperand(slot).getDefiningOp<arith::SelectOp>();
  if (!select || !old.hasOneUse() || *old.getUsers().begin() != select)
    return std::nullopt;
  bool isTrue = select.getFalseValue() == old;
  if (!isTrue && select.getTrueValue() != old)
    return std::nullopt;
  auto isInput = [&](BlockArgument argument) { return argument.getArgNumber() >= stateSize; };
  auto isPerToken = [&](BlockArgument argument) {
    return isInput(argument) && cast<TileType>(op.getInputs()[argument.getArgNumber() - stateSize].getType()).getExtent(1) == 1;
  };
  arith::CmpIOp comparison = findComparison(select.getCondition(), isTrue);
  if (!comparison)
    return std::nullopt;
  Value index = comparison.getLhs().getDefiningOp<ColumnOp>() ? comparison.getRhs() : comparison.getLhs();
  Value value = isTrue ? select.getTrueValue() : select.getFalseValue();
  if (!isMadeOf(index, /*mayVary=*/false, isPerToken) || !isMadeOf(select.getCondition(), true, isInput) ||
      !isMadeOf(value, true, isInput))
    return std::nullopt;
  return SparseSlot{slot, index, comparison};
}

struct PrintSparseSlotsPass : impl::PrintSparseSlotsPassBase<PrintSparseSlotsPass> {
  void runOnOperation() override {
    getOperation().walk([](UpdateStateOp op) {
      SmallVector<int64_t> slots = llvm::map_to_vector(findSparseSlots(op), [](const SparseSlot &sparse) { return int64_t(sparse.slot); });
      op->setAttr("logitile.sparse", DenseI64ArrayAttr::get(op.getContext(), slots));
    });
  }
};
} // namespace

SmallVector<SparseSlot> findSparseSlots(UpdateStateOp op) {
  SmallVector<SparseSlot> found;
  unsigned maxima = op.getCandidate().front().getTerminator()->getNumOperands(); // these are fixed before the update
  for (unsigned slot = maxima; slot < op.getState().size(); ++slot)
    if (std::optional<SparseSlot> sparse = matchSlot(op, slot))
      found.push_back(*sparse);
  return found;
}
} // namespace logitile

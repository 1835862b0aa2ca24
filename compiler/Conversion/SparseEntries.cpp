// SparseEntries.cpp - recognises sparse updates from the structure of the update region, and prints
// them for tests.
#include "compiler/Conversion/SparseEntries.h"
#include "compiler/Passes.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_PRINTSPARSEENTRIESPASS
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

std::optional<SparseEntry> matchEntry(UpdateStateOp op, unsigned entry) {
  Block &block = op.getUpdate().front();
  unsigned stateSize = op.getState().size();
  BlockArgument old = block.getArgument(entry);
  auto select = block.getTerminator()->getOperand(entry).getDefiningOp<arith::SelectOp>();
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
  return SparseEntry{entry, index, comparison};
}

struct PrintSparseEntriesPass : impl::PrintSparseEntriesPassBase<PrintSparseEntriesPass> {
  void runOnOperation() override {
    getOperation().walk([](UpdateStateOp op) {
      SmallVector<int64_t> entries =
          llvm::map_to_vector(findSparseEntries(op), [](const SparseEntry &sparse) { return int64_t(sparse.entry); });
      op->setAttr("logitile.sparse", DenseI64ArrayAttr::get(op.getContext(), entries));
    });
  }
};
} // namespace

SmallVector<SparseEntry> findSparseEntries(UpdateStateOp op) {
  SmallVector<SparseEntry> found;
  unsigned maxima = op.getCandidate().front().getTerminator()->getNumOperands(); // these are fixed before the update
  for (unsigned entry = maxima; entry < op.getState().size(); ++entry)
    if (std::optional<SparseEntry> sparse = matchEntry(op, entry))
      found.push_back(*sparse);
  return found;
}
} // namespace logitile

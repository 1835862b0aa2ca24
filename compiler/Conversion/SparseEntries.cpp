// SparseEntries.cpp - recognises sparse updates from the structure of the update region, and prints them for tests.
#include "compiler/Conversion/SparseEntries.h"
#include "compiler/Passes.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_PRINTSPARSEENTRIESPASS
#include "compiler/Passes.h.inc"

namespace {
/// Whether 'value' is made of nothing but constants, the column where `mayVary`, and arguments that 'allowed' accepts.
bool isMadeOf(Value value, bool mayVary, function_ref<bool(BlockArgument)> allowed) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return allowed(argument);
  Operation *op = value.getDefiningOp();
  if (isa<ColumnOp>(op))
    return mayVary;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isMadeOf(operand, mayVary, allowed); });
}

/// The number that the column must equal for 'condition' to hold ('wanted' is true) or not to hold.
Value findIndex(Value condition, bool wanted) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>(); both && wanted) {
    Value index = findIndex(both.getLhs(), true);
    return index ? index : findIndex(both.getRhs(), true);
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != (wanted ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne))
    return {};
  if (compare.getLhs().getDefiningOp<ColumnOp>())
    return compare.getRhs();
  return compare.getRhs().getDefiningOp<ColumnOp>() ? compare.getLhs() : Value();
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
  Value index = findIndex(select.getCondition(), isTrue);
  Value value = isTrue ? select.getTrueValue() : select.getFalseValue();
  if (!index || !isMadeOf(index, /*mayVary=*/false, isPerToken) || !isMadeOf(select.getCondition(), true, isInput) ||
      !isMadeOf(value, true, isInput))
    return std::nullopt;
  return SparseEntry{entry, index};
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

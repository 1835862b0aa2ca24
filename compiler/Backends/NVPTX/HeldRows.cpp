// HeldRows.cpp - finds loads of rows that no turn of a loop changes.
#include "compiler/Backends/NVPTX/HeldRows.h"
using namespace mlir;

namespace logitile::cuda {
static bool readsOnly(Operation *user) {
  auto terms = dyn_cast<SparseTermsOp>(user);
  return isa<LoadOp, LoadGatherOp, ProjectOp>(user) || (terms && terms.getAction() == TermAction::Clear);
}

/// Whether the kernel does not write the memory of 'view', which may be that of other views too.
static bool isOnlyRead(KernelOp kernel, Value view) {
  auto memoryOf = [&](Value argument) {
    StringAttr buffer = kernel.bufferOf(cast<BlockArgument>(argument));
    auto alias = buffer && kernel.getAliases() ? kernel.getAliases()->getAs<FlatSymbolRefAttr>(buffer) : FlatSymbolRefAttr();
    return alias ? alias.getAttr() : buffer;
  };
  return llvm::all_of(kernel.getBody().getArguments(), [&](BlockArgument other) {
    bool isOfMemory = isa<ViewType>(other.getType()) && memoryOf(other) == memoryOf(view);
    return !isOfMemory || llvm::all_of(other.getUsers(), readsOnly);
  });
}

SmallVector<Operation *> findHeldRows(scf::ForOp loop, const Sharing &sharing) {
  constexpr int64_t kFewRows = 2;
  SmallVector<Operation *> found;
  bool hasTurns = isa<scf::ForallOp>(loop->getParentOp()) && !isForFlaggedTokens(loop); // others may have none
  bool makesTiles = hasTurns && llvm::any_of(loop.getOps<ProjectOp>(), [](ProjectOp op) { return isOfWarpgroups(op); });
  if (!makesTiles || sharing.rowSlots() > kFewRows)
    return found;
  auto kernel = loop->getParentOfType<KernelOp>();
  auto isFixed = [&](Value operand) {
    if (isa<ViewType>(operand.getType()))
      return isOnlyRead(kernel, operand);
    return loop.isDefinedOutsideOfLoop(operand) || llvm::is_contained(found, operand.getDefiningOp());
  };
  for (Operation &op : *loop.getBody()) {
    if (auto load = dyn_cast<LoadOp>(op); load && isCopied(load))
      continue;
    auto type = isa<LoadOp, LoadGatherOp>(op) ? cast<TileType>(op.getResult(0).getType()) : TileType();
    if (type && type.getExtent(0) > 1 && type.getExtent(1) == 1 && llvm::all_of(op.getOperands(), isFixed))
      found.push_back(&op);
  }
  return found;
}

LoadOp findHeld(ArrayRef<Operation *> held, Value view, Value row) {
  auto isIt = [&](LoadOp load) { return load && load.getView() == view && load.getAt().size() == 1 && load.getAt()[0] == row; };
  const auto *found = llvm::find_if(held, [&](Operation *op) { return isIt(dyn_cast<LoadOp>(op)); });
  return found == held.end() ? LoadOp() : cast<LoadOp>(*found);
}
} // namespace logitile::cuda

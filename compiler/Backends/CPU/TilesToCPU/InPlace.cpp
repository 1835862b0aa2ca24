// InPlace.cpp - decides where tiles are stored: in the memory that they are stored to, in the state
// of a loop, or in scratch. A tile that is computed at its final address needs no copy; so
// gradients overwrite logits.
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

namespace {
/// The store that 'value' ends in, through ops that change it in place, and whether there are such
/// ops.
struct End {
  StoreOp store;
  bool isChanged = false;
};
End findEnd(Value value) {
  End end;
  while (true) {
    for (Operation *user : value.getUsers())
      if (auto store = dyn_cast<StoreOp>(user); store && store.getValue() == value)
        end.store = store;
    if (end.store || !value.hasOneUse())
      return end;
    auto terms = dyn_cast<SparseTermsOp>(*value.getUsers().begin());
    if (!terms)
      return end;
    value = terms.getResult();
    end.isChanged = true;
  }
}

} // namespace

bool KernelContext::readsWindowAfter(Operation *op, Value except, StringAttr memory) const {
  for (Operation *later = op->getNextNode(); later; later = later->getNextNode())
    for (Value operand : later->getOperands()) {
      auto known = tiles.find(operand);
      if (operand != except && known != tiles.end() && known->second.window == memory)
        return true;
    }
  return false;
}

/// Whether a window of the same memory is loaded between 'op' and 'store': it must not see what is
/// stored.
static bool loadsWindowBetween(KernelContext &k, Operation *op, StoreOp store) {
  StringAttr memory = k.view(store.getView()).memory;
  for (Operation *between = op->getNextNode(); between != store; between = between->getNextNode())
    if (auto load = dyn_cast<LoadOp>(between); load && k.view(load.getView()).memory == memory)
      return true;
  return false;
}

std::optional<StoreOp> KernelContext::findWindow(OpResult result, bool mayRound) {
  auto [store, isChanged] = findEnd(result);
  if (!store || store->getBlock() != result.getOwner()->getBlock() || store.getMap())
    return std::nullopt;
  const View &view = this->view(store.getView());
  if (view.layout() != Layout::ColumnMajor)
    return std::nullopt;
  if (!llvm::all_of(store.getAt(), [&](Value index) { return isScalar(index); })) // computed later
    return std::nullopt;
  // Rounding is for the store: whoever else reads the tile wants it exact.
  bool isRounded = view.type.getElement() != cast<TileType>(result.getType()).getElement();
  if (isRounded && (!mayRound || isChanged || !result.hasOneUse()))
    return std::nullopt;
  if (readsWindowAfter(result.getOwner(), result, view.memory) || loadsWindowBetween(*this, result.getOwner(), store))
    return std::nullopt;
  return store;
}

/// The state of the enclosing loop that 'result' becomes, where nobody reads the old one any more.
static Value findLoopState(OpResult result) {
  auto loop = dyn_cast<scf::ForOp>(result.getOwner()->getParentOp());
  if (!loop)
    return {};
  for (auto [yielded, argument] : llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs())) {
    bool onlyHere = llvm::all_of(argument.getUsers(), [&](Operation *user) { return user == result.getOwner(); });
    if (yielded == result && onlyHere)
      return argument;
  }
  return {};
}

Tile KernelContext::choosePlace(OpResult result, Int rows, Int columns, bool isWhole, bool mayRound) {
  if (std::optional<StoreOp> store = findWindow(result, mayRound)) {
    storedInPlace.insert(*store);
    const View &view = this->view(store->getView());
    Place window = windowOf(view, scalar(store->getAt()[0]), scalar(store->getAt()[1]));
    Tile tile{window, view.stride1, /*lanesAlongRows=*/true, rows, columns};
    tile.isWhole = isWhole;
    tile.window = view.memory;
    return tile;
  }
  if (Value state = findLoopState(result))
    return tile(state);
  return allocateTile(cast<TileType>(result.getType()), /*lanesAlongRows=*/true, rows, columns, isWhole);
}

FailureOr<Int> KernelContext::storedExtent(OpResult result, unsigned dim) {
  int64_t extent = cast<TileType>(result.getType()).getExtent(dim);
  StoreOp store = findEnd(result).store;
  return store ? countInside(store, view(store.getView()), dim, store.getAt()[dim], extent) : FailureOr<Int>(e.integer(extent));
}

Tile KernelContext::takeOver(OpOperand &operand) {
  const Tile &tile = this->tile(operand.get());
  if (operand.get().hasOneUse() && !tile.isBorrowed)
    return tile;
  Tile copy = allocateTile(cast<TileType>(operand.get().getType()), tile.lanesAlongRows, tile.rows, tile.columns, tile.isWhole);
  copyTile(tile, copy);
  return copy;
}

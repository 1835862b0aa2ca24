// Loads.cpp - load and gather: from views to the elements that threads hold.
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"
using namespace mlir;

namespace logitile::cuda {
// ---- load ---------------------------------------------------------------------------------------

namespace {
/// Which dimension of a view the rows and columns of a tile run along; none where the tile has one
/// of them.
struct Axes {
  std::optional<unsigned> rows, columns;
};
Axes axesOf(const View &view, TileType type) {
  if (view.isVector())
    return type.getExtent(1) == 1 ? Axes{0, std::nullopt} : Axes{std::nullopt, 0};
  if (view.isRowState())
    return {1, std::nullopt};
  return {0, 1};
}
} // namespace

/// Entries that do not exist read the last one that does, or the last 'run' of them: nothing uses
/// them.
static FailureOr<std::function<Int(Int)>> clipTo(KernelContext &k, Operation *op, const View &view, unsigned dim, Value first, int64_t count,
                                                 int64_t run = 1) {
  FailureOr<Int> end = k.end(op, view, dim);
  if (failed(end))
    return failure();
  Int start = k.scalar(first);
  if (count == 1) // whatever row or column the thread has in other tiles
    return std::function<Int(Int)>([=](Int) { return start; });
  if (!k.mayClip(view, dim, first, count))
    return std::function<Int(Int)>([=](Int entry) { return start + entry; });
  return std::function<Int(Int)>([=, last = (*end - 1) / run * run](Int entry) { return smaller(start + entry, last); });
}

/// Whether memory is as it was at every use: then uses may read it themselves.
static bool isReadBeforeStores(LoadOp op) {
  Operation *last = op;
  for (Operation *user : op->getUsers()) {
    if (user->getBlock() != op->getBlock())
      return false;
    if (last->isBeforeInBlock(user))
      last = user;
  }
  for (Operation *next = op; next != last; next = next->getNextNode())
    if (isa<StoreOp>(next))
      return false;
  return true;
}

LogicalResult convertLoad(KernelContext &k, LoadOp op) {
  if (k.isHeld(op))
    return success();
  const View &view = k.view(op.getView());
  auto type = cast<TileType>(op.getType());
  if (failed(k.checkLayout(op, view)))
    return failure();
  if (isCopied(op)) {
    Tile tile{type, {}, {}};
    tile.source = op;
    k.setTile(op, tile);
    return success();
  }
  if (failed(k.checkElements(op, type, view)))
    return failure();
  Axes axes = axesOf(view, type);
  auto fixed = [&](unsigned dim) { return std::function<Int(Int)>([at = k.scalar(op.getAt()[dim])](Int) { return at; }); };
  auto along = [&](std::optional<unsigned> dim, unsigned side) -> FailureOr<std::function<Int(Int)>> {
    return clipTo(k, op, view, *dim, op.getAt()[*dim], type.getExtent(side));
  };
  FailureOr<std::function<Int(Int)>> rows = axes.rows ? along(axes.rows, 0) : fixed(0);
  FailureOr<std::function<Int(Int)>> columns = axes.columns ? along(axes.columns, 1) : fixed(0);
  if (failed(rows) || failed(columns))
    return failure();
  Value map = op.getMap();
  auto read = [&k, &view, axes, row = *rows, column = *columns, map](Int r, Int c) -> Value {
    if (view.isVector())
      return k.e.load(k.e.at(view.base, axes.rows ? row(r) : column(c)));
    if (view.isRowState())
      return k.e.load(k.windowOf(view, column(c), row(r)));
    return k.e.load(k.windowOf(view, k.throughMap(map, row(r)), column(c)));
  };
  if (type.getExtent(0) > 1 && type.getExtent(1) > 1 && !isReadBeforeStores(op))
    return op.emitOpError() << "is used after a store; CUDA kernels read a tile of memory where they use it";
  for (auto [side, dim] : {std::pair(0, axes.rows), std::pair(1, axes.columns)})
    if (dim && k.mayClip(view, *dim, op.getAt()[*dim], type.getExtent(side)))
      k.readPastEnds.insert(view.memory);
  Tile tile{type, {}, read};
  if (axes.rows && axes.columns && type.getExtent(1) > 1)
    tile.run = k.runOf(view, op.getAt()[1]);
  if (tile.run > 1) {
    std::function<Int(Int)> first = *clipTo(k, op, view, 1, op.getAt()[1], type.getExtent(1), tile.run);
    tile.readRun = [&k, &view, row = *rows, first, map, run = tile.run](Int r, Int c) {
      return k.e.loadRun(k.placeOfRun(view, k.throughMap(map, row(r)), first(c)), run);
    };
  }
  k.setTile(op, tile);
  return success();
}

// ---- gather -------------------------------------------------------------------------------------

LogicalResult convertGather(KernelContext &k, LoadGatherOp op) {
  if (k.isHeld(op))
    return success();
  Emitter &e = k.e;
  const View &view = k.view(op.getView());
  auto type = cast<TileType>(op.getType());
  if (failed(k.checkLayout(op, view)) || failed(k.checkElements(op, type, view)))
    return failure();
  const Tile &index = k.tile(op.getIndex());
  if (!index.read)
    return op.emitOpError() << "gathers at an index that is computed; CUDA kernels gather at indices in memory";
  FailureOr<std::function<Int(Int)>> rows = std::function<Int(Int)>([](Int row) { return row; });
  if (op.getRow())
    rows = clipTo(k, op, view, 0, op.getRow(), type.getExtent(0));
  if (failed(rows))
    return failure();
  Value map = op.getMap();
  bool hasRows = bool(op.getRow());
  auto read = [&k, &e, &view, readIndex = index.read, row = *rows, map, hasRows](Int r, Int c) -> Value {
    Int column = k.clampEntry(readIndex(r, c), view);
    return e.load(hasRows ? k.windowOf(view, k.throughMap(map, row(r)), column) : e.at(view.base, column));
  };
  k.setTile(op, Tile{type, {}, read});
  return success();
}
} // namespace logitile::cuda

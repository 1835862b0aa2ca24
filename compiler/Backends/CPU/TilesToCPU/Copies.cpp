// Copies.cpp - load, store and gather: between views of any layout and tiles. Packed layouts are
// Packing.cpp.
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

static bool isPacked(const View &view) { return view.layout() == Layout::RowPanels || view.layout() == Layout::ColumnPanels; }

// ---- load ---------------------------------------------------------------------------------------

/// Whether the only reader of 'load' is a store that can copy from view to view.
static bool isCopied(KernelContext &k, LoadOp load) {
  if (!load.getResult().hasOneUse())
    return false;
  auto store = dyn_cast<StoreOp>(*load.getResult().getUsers().begin());
  if (!store || store->getBlock() != load->getBlock() || k.view(store.getView()).layout() == Layout::ColumnMajor)
    return false;
  for (Operation *op = load->getNextNode(); op != store; op = op->getNextNode())
    if (!isMemoryEffectFree(op))
      return false;
  return true;
}

/// Whether 'load' is the start of a sum that lies row by row, as contractions make them.
static bool isSum(LoadOp load) {
  return llvm::any_of(load.getResult().getUsers(), [](Operation *user) { return isa<ContractSparseOp>(user); });
}

/// A copy of the rows of a strided view.
static Tile loadRows(KernelContext &k, LoadOp load, const View &view, Int rows, Int columns) {
  Emitter &e = k.e;
  Tile tile = k.allocateTile(cast<TileType>(load.getType()), /*lanesAlongRows=*/false, rows, columns, /*isWhole=*/false);
  func::FuncOp copy = k.helpers.copy(view.base.element, tile.base.element);
  Int row = k.scalar(load.getAt()[0]), column = k.scalar(load.getAt()[1]);
  e.loop(rows, [&](Int line) {
    Place from = k.windowOf(view, k.throughMap(load.getMap(), row + line), column);
    k.call(copy, {from.pointer, view.stride1, k.placeOf(tile, line, e.integer(0)).pointer, e.integer(1), columns});
  });
  return tile;
}

/// A tile with lanes along tokens, gathered from the rows of a strided view.
static Tile loadTransposed(KernelContext &k, LoadOp load, const View &view, Int rows, Int columns) {
  Emitter &e = k.e;
  Tile tile = k.allocateTile(cast<TileType>(load.getType()), /*lanesAlongRows=*/true, rows, columns, /*isWhole=*/false);
  func::FuncOp copy = k.helpers.copy(view.base.element, tile.base.element);
  Int row = k.scalar(load.getAt()[0]), column = k.scalar(load.getAt()[1]);
  e.loop(rows, [&](Int lane) {
    Place from = k.windowOf(view, k.throughMap(load.getMap(), row + lane), column);
    k.call(copy, {from.pointer, view.stride1, e.at(tile.base, lane).pointer, tile.stride, columns});
  });
  return tile;
}

LogicalResult cpu::convertLoad(KernelContext &k, LoadOp op) {
  const View &view = k.view(op.getView());
  auto type = cast<TileType>(op.getType());
  bool isVector = op.getAt().size() == 1, alongRows = view.isRowState() || type.getExtent(1) == 1;
  if (isPacked(view))
    return op.emitOpError() << "reads from " << view.type << "; packed buffers are operands of contractions only";
  unsigned rowDim = view.isRowState() ? 1 : 0, columnDim = isVector ? 0 : 1;
  FailureOr<Int> rows = k.e.integer(1), columns = k.e.integer(1);
  if (!isVector || alongRows)
    rows = k.countInside(op, view, rowDim, op.getAt()[rowDim], type.getExtent(0));
  if (!view.isRowState() && !(isVector && alongRows))
    columns = k.countInside(op, view, columnDim, op.getAt()[columnDim], type.getExtent(1));
  if (failed(rows) || failed(columns))
    return failure();

  bool isStrided = !isVector && !view.isRowState() && view.layout() == Layout::Strided;
  if (isStrided && isCopied(k, op)) {
    Tile tile{view.base, view.stride0, /*lanesAlongRows=*/false, *rows, *columns};
    tile.source = op;
    k.setTile(op, tile);
    return success();
  }
  if (failed(k.checkElements(op, type, view)))
    return failure();
  if (isStrided) {
    k.setTile(op, isSum(op) ? loadRows(k, op, view, *rows, *columns) : loadTransposed(k, op, view, *rows, *columns));
    return success();
  }
  Place base = isVector ? k.e.at(view.base, k.scalar(op.getAt()[0])) : k.windowOf(view, k.scalar(op.getAt()[0]), k.scalar(op.getAt()[1]));
  Tile tile{base, view.stride1, alongRows || view.layout() == Layout::ColumnMajor, *rows, *columns};
  tile.isBorrowed = true;
  if (view.layout() == Layout::ColumnMajor)
    tile.window = view.memory;
  k.setTile(op, tile);
  return success();
}

// ---- store --------------------------------------------------------------------------------------

/// Lanes after the last token are written too; where tokens come in pairs they must be zero, for
/// the odd one is used.
static LogicalResult storeColumns(KernelContext &k, StoreOp op, const Tile &tile, const View &view, Int rows, Int columns) {
  Emitter &e = k.e;
  if (k.readsWindowAfter(op, op.getValue(), view.memory))
    return op.emitOpError() << "may overwrite a tile that a later op reads; store last";
  Tile to{k.windowOf(view, k.scalar(op.getAt()[0]), k.scalar(op.getAt()[1])), view.stride1, true, rows, columns};
  e.loop(columns, [&](Int line) { // whole lines: their memory lies together
    k.forGroups(to, [&](Int lane) {
      Value value = e.load(k.placeOf(tile, line, lane), e.lanes);
      if (isOfPairs(view))
        value = arith::SelectOp::create(e, e.lanesBelow(lane, rows, e.lanes), value, e.number(value.getType(), 0));
      e.store(value, k.placeOf(to, line, lane));
    });
  });
  return success();
}

/// Row by row into a strided view, from a tile or from another view.
static void storeRows(KernelContext &k, StoreOp op, const Tile &tile, const View &view, Int rows, Int columns) {
  Emitter &e = k.e;
  Int row = k.scalar(op.getAt()[0]), column = k.scalar(op.getAt()[1]);
  func::FuncOp copy = k.helpers.copy(tile.base.element, view.base.element);
  e.loop(rows, [&](Int i) {
    Place to = k.windowOf(view, k.throughMap(op.getMap(), row + i), column);
    Place from = tile.lanesAlongRows ? e.at(tile.base, i) : e.at(tile.base, i * tile.stride);
    Int step = tile.lanesAlongRows ? tile.stride : e.integer(1);
    if (LoadOp load = tile.source) {
      const View &source = k.view(load.getView());
      from = k.windowOf(source, k.throughMap(load.getMap(), k.scalar(load.getAt()[0]) + i), k.scalar(load.getAt()[1]));
      step = source.stride1;
    }
    k.unlessInterrupted(view.extent(1), [&] { k.call(copy, {from.pointer, step, to.pointer, view.stride1, columns}); });
  });
}

LogicalResult cpu::convertStore(KernelContext &k, StoreOp op) {
  if (k.isStoredInPlace(op))
    return success();
  Emitter &e = k.e;
  const View &view = k.view(op.getView());
  const Tile &tile = k.tile(op.getValue());
  auto type = cast<TileType>(op.getValue().getType());
  if (isPacked(view) && tile.source)
    return storePacked(k, op, tile.source);
  if (isPacked(view))
    return op.emitOpError() << "packs a tile that is computed; only rows of a strided view are packed";

  bool isVector = op.getAt().size() == 1;
  if (isVector || view.isRowState()) { // one line of neighbours
    unsigned dim = isVector ? 0 : 1;
    FailureOr<Int> count = k.countInside(op, view, dim, op.getAt()[dim], type.getExtent(tile.lanesAlongRows ? 0 : 1));
    if (failed(count))
      return failure();
    Place to = isVector ? e.at(view.base, k.scalar(op.getAt()[0])) : k.windowOf(view, k.scalar(op.getAt()[0]), k.scalar(op.getAt()[1]));
    k.call(k.helpers.copy(tile.base.element, view.base.element), {tile.base.pointer, e.integer(1), to.pointer, e.integer(1), *count});
    return success();
  }
  FailureOr<Int> rows = k.countInside(op, view, 0, op.getAt()[0], type.getExtent(0));
  FailureOr<Int> columns = k.countInside(op, view, 1, op.getAt()[1], type.getExtent(1));
  if (failed(rows) || failed(columns))
    return failure();
  if (view.layout() == Layout::ColumnMajor)
    return storeColumns(k, op, tile, view, *rows, *columns);
  storeRows(k, op, tile, view, *rows, *columns);
  return success();
}

// ---- gather -------------------------------------------------------------------------------------

LogicalResult cpu::convertGather(KernelContext &k, LoadGatherOp op) {
  Emitter &e = k.e;
  const View &view = k.view(op.getView());
  const Tile &index = k.tile(op.getIndex());
  auto type = cast<TileType>(op.getType());
  if (failed(k.checkElements(op, type, view)))
    return failure();
  Tile tile = k.allocateTile(type, /*lanesAlongRows=*/true, index.rows, index.columns, index.isWhole);
  e.loop(index.rows, [&](Int lane) {
    Int column = k.clampEntry(e.load(e.at(index.base, lane)), view);
    Place from = op.getRow() ? k.windowOf(view, k.throughMap(op.getMap(), k.scalar(op.getRow()) + lane), column) : e.at(view.base, column);
    e.store(e.load(from), e.at(tile.base, lane));
  });
  k.setTile(op, tile);
  return success();
}

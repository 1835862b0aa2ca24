// Copies.cpp - load, store and gather: between views and the elements that threads hold.
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/StagedRows.h"
using namespace mlir;

namespace logitile::cuda {
static LogicalResult checkLayout(Operation *op, const View &view) {
  if (view.layout() == Layout::Strided)
    return success();
  return op->emitOpError() << "uses " << view.type << "; on this target views are strided";
}

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
  if (failed(checkLayout(op, view)))
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

// ---- store --------------------------------------------------------------------------------------

/// From view to view: the threads share out the elements of the tile.
static LogicalResult storeCopy(KernelContext &k, StoreOp op, LoadOp load) {
  Emitter &e = k.e;
  const View &from = k.view(load.getView()), &to = k.view(op.getView());
  auto type = cast<TileType>(load.getType());
  Int firstRow = k.scalar(op.getAt()[0]), firstColumn = k.scalar(op.getAt()[1]);
  FailureOr<Int> endRow = k.end(op, to, 0), endColumn = k.end(op, to, 1);
  if (failed(endRow) || failed(endColumn))
    return failure();
  Int rows = smaller(*endRow - firstRow, type.getExtent(0)), columns = smaller(*endColumn - firstColumn, type.getExtent(1));
  e.loop(e.thread(), rows * columns, e.integer(k.threads.sharing.threads), [&](Int i) {
    Int row = i / columns, column = i % columns;
    Int fromRow = k.throughMap(load.getMap(), k.scalar(load.getAt()[0]) + row), toRow = k.throughMap(op.getMap(), firstRow + row);
    Value value = e.load(k.windowOf(from, fromRow, k.scalar(load.getAt()[1]) + column));
    e.store(value, k.windowOf(to, toRow, firstColumn + column));
  });
  return success();
}

/// One value for each thread: a row state, results of tokens, or sums of columns.
static LogicalResult storeLine(KernelContext &k, StoreOp op, const Tile &tile, const View &view) {
  Emitter &e = k.e;
  bool alongRows = tile.type.getExtent(1) == 1;
  int64_t count = tile.type.getExtent(alongRows ? 0 : 1);
  if (alongRows && count > 1 && !view.isVector() && !view.isRowState())
    return op.emitOpError() << "stores a column to " << view.type << "; CUDA kernels store columns to views of 1 dimension and to row states";
  if (k.isOwned(tile.type) && !tile.isOwned)
    return op.emitOpError() << "stores " << tile.type << ", whose rows several threads have; CUDA kernels do not support that";
  unsigned dim = view.isVector() ? 0 : 1;
  FailureOr<Int> end = k.end(op, view, dim);
  if (failed(end))
    return failure();
  bool isState = k.isOwned(tile.type);
  Int line = isState ? k.threads.line : e.thread(), at = k.scalar(op.getAt()[dim]) + line;
  Value isInside = isState ? k.threads.hasLine() : isLess(line, count);
  if (k.mayClip(view, dim, op.getAt()[dim], count))
    isInside = e.both(isInside, isLess(at, *end));
  Value value = tile.isOwned ? tile.values[0] : k.element(tile, 0, 0);
  e.when(isInside, [&] { e.store(value, view.isVector() ? e.at(view.base, at) : k.windowOf(view, k.scalar(op.getAt()[0]), at)); });
  return success();
}

/// Where the columns of 'view' end, to a tile: in the workspace after the padding of a row, so
/// that all of a run that is read is written.
static FailureOr<Int> paddedEnd(KernelContext &k, StoreOp op, const View &view) {
  FailureOr<Int> end = k.end(op, view, 1);
  if (failed(end) || k.runOf(view, op.getAt()[1]) == 1)
    return end;
  int64_t unit = kVectorBytes / CodeBuilder::bytesOf(view.type.getElement());
  return divideUp(*end, unit) * unit;
}

namespace {
/// How elements of a tile of fragments go to memory: as runs of 'always' columns, and of 'aligned'
/// ones where the memory 'isAligned'. These are staged where threads have not so many neighbours.
struct Runs {
  int64_t always, aligned;
  bool areStaged;
  Value isAligned;
  static Runs of(KernelContext &k, const Tile &tile, const View &view, Value first) {
    int64_t always = k.runOf(view, first), aligned = std::max(always, k.runIfAligned(view, first));
    bool isPadded = k.isPadded(view), fits = isPadded || view.extent(1) % StagedRows::kRun == 0;
    if (fits && StagedRows::suit(k, tile, view, first))
      return {always, StagedRows::kRun, true, isPadded ? k.e.truth(true) : k.isAligned(view, kVectorBytes)};
    Value isAligned = always < aligned ? k.isAligned(view, aligned * CodeBuilder::bytesOf(view.type.getElement())) : k.e.truth(true);
    return {always, aligned, false, isAligned};
  }
};
} // namespace

namespace {
/// Where a tile goes, and where the tokens end that its rows are; none where they are none. Boxes
/// leave out the padding after the last of 'columns'.
struct Corner {
  Int row, column;
  std::optional<Int> tokens;
  int64_t columns;
};
} // namespace

static SmallVector<StagedRows::Row> rowsOf(const KernelContext &k, const Tile &tile, function_ref<StagedRows::Row(int64_t)> rowOf) {
  return llvm::map_to_vector(llvm::seq<int64_t>(0, k.rowSlots(tile.type)), rowOf);
}

/// A tile as boxes, where there is a map; otherwise a warp does so whose rows do not all count.
static void storeBoxes(KernelContext &k, StagedRows &staged, const KernelContext::BoundMap &map, const Tile &tile, const Corner &at,
                       function_ref<void()> otherwise) {
  Int last = at.row + (*k.warp + 1) * k.threads.sharing.blockRows() - 1; // of this warp
  Value areThere = at.tokens ? isLess(last, *at.tokens) : k.e.truth(true);
  if (int64_t width = tile.type.getExtent(1); at.columns % width != 0)
    areThere = k.e.both(areThere, isLess(at.column + (width - 1), at.columns));
  auto rows = rowsOf(k, tile, [&](int64_t slot) -> StagedRows::Row { return {k.elementsOf(tile, slot), {}, {}}; });
  k.e.when(k.e.both(map.isThere(), areThere), [&] { staged.storeBoxes(rows, map, at.row, at.column); }, otherwise);
}

/// Until all threads have read what is stored over: in the memory of 'view', or in shared memory
/// where rows are staged.
static void waitForReaders(KernelContext &k, const View &view, bool areStaged) {
  if (k.readPastEnds.contains(view.memory) || (areStaged && !k.areWarpsApart()))
    k.e.barrier();
  else if (areStaged)
    k.e.syncWarp(); // only this warp uses the memory
}

static LogicalResult storeFragments(KernelContext &k, StoreOp op, const Tile &tile, const View &view) {
  Emitter &e = k.e;
  FailureOr<Int> endRow = k.end(op, view, 0), endColumn = paddedEnd(k, op, view);
  if (failed(endRow) || failed(endColumn))
    return failure();
  Int firstRow = k.scalar(op.getAt()[0]), firstColumn = k.scalar(op.getAt()[1]);
  bool clipsRows = k.mayClip(view, 0, op.getAt()[0], tile.type.getExtent(0));
  std::optional<Int> tokens = ShapedType::isDynamic(view.extent(0)) ? std::optional(*endRow) : std::nullopt;
  Runs runs = Runs::of(k, tile, view, op.getAt()[1]);
  std::optional<StagedRows> staged = runs.areStaged ? std::optional(StagedRows(k, view.type.getElement())) : std::nullopt;
  waitForReaders(k, view, staged.has_value());
  auto storeRuns = [&](ArrayRef<Value> elements, Int to, int64_t run, bool isTail) {
    auto isInside = [&](int64_t slot) { return isTail ? isLess(firstColumn + k.threads.column(slot), *endColumn) : e.truth(true); };
    if (run == 1)
      return k.walkRow(view, to, firstColumn, elements.size(), std::nullopt, [&](int64_t slot, Place place) {
        e.when(isInside(slot), [&] { e.store(elements[slot], place); });
      });
    Place start = k.placeOfRun(view, to, firstColumn + k.threads.column(0));
    for (int64_t slot = 0, slots = elements.size(); slot < slots; slot += run) {
      Place place = e.at(start, e.integer(k.threads.distance(slot)));
      e.when(isInside(slot), [&] { e.storeRun(elements.slice(slot, run), place); });
    }
  };
  auto isThere = [&](Int row) { return clipsRows ? isLess(row, *endRow) : e.truth(true); };
  auto storeRows = [&](const Tile &tile, function_ref<void(ArrayRef<Value>, Int)> store) {
    for (int64_t slot = 0; slot < k.rowSlots(tile.type); ++slot) {
      Int row = firstRow + k.threads.row(slot);
      e.when(isThere(row), [&] { store(k.elementsOf(tile, slot), k.throughMap(op.getMap(), row)); });
    }
  };
  auto storeStaged = [&](const Tile &tile) {
    staged->store(rowsOf(k, tile, [&](int64_t slot) -> StagedRows::Row {
      Int row = firstRow + k.threads.row(slot);
      return {k.elementsOf(tile, slot), isThere(row), [&, row] { return k.placeOfRun(view, k.throughMap(op.getMap(), row), firstColumn); }};
    }));
  };
  std::optional<KernelContext::BoundMap> boxes = k.mapOf(op);
  auto storeTile = [&](const Tile &tile, bool isTail) {
    auto oneByOne = [&](ArrayRef<Value> elements, Int to) { storeRuns(elements, to, runs.always, isTail); };
    if (staged && isTail)
      return storeRows(tile, oneByOne);
    if (staged && boxes)
      return storeBoxes(k, *staged, *boxes, tile, {firstRow, firstColumn, tokens, view.extent(1)}, [&] { storeRows(tile, oneByOne); });
    if (staged)
      return e.when(runs.isAligned, [&] { storeStaged(tile); }, [&] { storeRows(tile, oneByOne); });
    storeRows(tile, [&](ArrayRef<Value> elements, Int to) {
      e.when(runs.isAligned, [&] { storeRuns(elements, to, runs.aligned, isTail); }, [&] { oneByOne(elements, to); });
    });
  };
  PassedTiles passed(k, op, op.getValue());
  bool clipsColumns = k.mayClip(view, 1, op.getAt()[1], tile.type.getExtent(1));
  passed.set(k.splitTail(clipsColumns, firstColumn, tile.type.getExtent(1), *endColumn, passed.types(), [&](bool isTail) {
    RowLoop loop(k);
    loop.take(tile);
    loop.run([&] { storeTile(loop.tiles[0], isTail); });
    return passed.valuesOf(loop);
  }));
  return success();
}

LogicalResult convertStore(KernelContext &k, StoreOp op) {
  const View &view = k.view(op.getView());
  const Tile &tile = k.tile(op.getValue());
  if (failed(checkLayout(op, view)))
    return failure();
  if (LoadOp load = tile.source) {
    if (load.getAt().size() != 2 || op.getAt().size() != 2)
      return op.emitOpError() << "copies memory of one dimension; CUDA kernels copy rows";
    return storeCopy(k, op, load);
  }
  if (tile.type.getExtent(0) == 1 || tile.type.getExtent(1) == 1)
    return storeLine(k, op, tile, view);
  return storeFragments(k, op, tile, view);
}

// ---- gather -------------------------------------------------------------------------------------

LogicalResult convertGather(KernelContext &k, LoadGatherOp op) {
  if (k.isHeld(op))
    return success();
  Emitter &e = k.e;
  const View &view = k.view(op.getView());
  auto type = cast<TileType>(op.getType());
  if (failed(checkLayout(op, view)) || failed(k.checkElements(op, type, view)))
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

// Stores.cpp - store: from elements that threads hold to views, and from view to view.
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/StagedRows.h"
using namespace mlir;

namespace logitile::cuda {
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

/// One store of a tile of fragments.
class FragmentStore {
public:
  FragmentStore(KernelContext &k, StoreOp op, const Tile &tile, const View &view, Int endRow, Int endColumn)
      : k(k), e(k.e), op(op), tile(tile), view(view), firstRow(k.scalar(op.getAt()[0])), firstColumn(k.scalar(op.getAt()[1])),
        endRow(endRow), endColumn(endColumn), clipsRows(k.mayClip(view, 0, op.getAt()[0], tile.type.getExtent(0))),
        runs(Runs::of(k, tile, view, op.getAt()[1])), boxes(k.mapOf(op)) {
    if (runs.areStaged)
      staged.emplace(k, view.type.getElement());
  }

  void emit() {
    waitForReaders();
    PassedTiles passed(k, op, op.getValue());
    bool clipsColumns = k.mayClip(view, 1, op.getAt()[1], tile.type.getExtent(1));
    auto store = [&](bool isTail) -> CodeBuilder::Values {
      if (staged && !isTail)
        return storeTile(passed, /*isUnrolled=*/false, [&](const Tile &rows) { boxes ? storeBoxes(rows) : storeStaged(rows); });
      if (staged)
        return storeTile(passed, /*isUnrolled=*/false, [&](const Tile &rows) { storeRows(rows, runs.always, isTail); });
      // In a loop, the addresses of all rows would be computed before it, and take registers in it.
      bool isUnrolled = !isTail && isa<scf::ForallOp>(op->getParentOp());
      auto asRuns = [&] { return storeTile(passed, isUnrolled, [&](const Tile &rows) { storeRows(rows, runs.aligned, isTail); }); };
      if (runs.always == runs.aligned)
        return asRuns();
      auto oneByOne = [&] { return storeTile(passed, /*isUnrolled=*/false, [&](const Tile &rows) { storeRows(rows, runs.always, isTail); }); };
      return choose(runs.isAligned, passed.types(), asRuns, oneByOne);
    };
    passed.set(k.splitTail(clipsColumns, firstColumn, tile.type.getExtent(1), endColumn, passed.types(), store));
  }

private:
  /// Until all threads have read what is stored over: in the memory of the view, or in shared
  /// memory where rows are staged.
  void waitForReaders() {
    if (k.readPastEnds.contains(view.memory) || (staged && !k.areWarpsApart()))
      e.barrier();
    else if (staged)
      e.syncWarp(); // only this warp uses the memory
  }

  CodeBuilder::Values choose(Value condition, TypeRange types, function_ref<CodeBuilder::Values()> then,
                             function_ref<CodeBuilder::Values()> otherwise) {
    if (!types.empty())
      return e.choose(condition, types, then, otherwise);
    e.when(condition, [&] { then(); }, [&] { otherwise(); });
    return {};
  }

  /// All rows, some at a time. Returns what later ops use of the tile.
  CodeBuilder::Values storeTile(const PassedTiles &passed, bool isUnrolled, function_ref<void(const Tile &)> store) {
    RowLoop loop(k);
    if (isUnrolled)
      loop.unroll();
    loop.take(tile);
    loop.run([&] { store(loop.tiles[0]); });
    return passed.valuesOf(loop);
  }

  Value isThere(Int row) { return clipsRows ? isLess(row, endRow) : e.truth(true); }

  /// Runs of 'run' columns.
  void storeRows(const Tile &rows, int64_t run, bool isTail) {
    for (int64_t slot = 0; slot < k.rowSlots(rows.type); ++slot) {
      Int row = firstRow + k.threads.row(slot);
      e.when(isThere(row), [&] { storeRuns(k.elementsOf(rows, slot), k.throughMap(op.getMap(), row), run, isTail); });
    }
  }
  void storeRuns(ArrayRef<Value> elements, Int to, int64_t run, bool isTail) {
    auto isInside = [&](int64_t slot) { return isTail ? isLess(firstColumn + k.threads.column(slot), endColumn) : e.truth(true); };
    if (run == 1)
      return k.walkRow(view, to, firstColumn, elements.size(), std::nullopt, [&](int64_t slot, Place place) {
        e.when(isInside(slot), [&] { e.store(elements[slot], place); });
      });
    Place start = k.placeOfRun(view, to, firstColumn + k.threads.column(0));
    for (int64_t slot = 0, slots = elements.size(); slot < slots; slot += run) {
      Place place = e.at(start, e.integer(k.threads.distance(slot)));
      e.when(isInside(slot), [&] { e.storeRun(elements.slice(slot, run), place); });
    }
  }

  SmallVector<StagedRows::Row> rowsOf(const Tile &rows, function_ref<StagedRows::Row(int64_t)> rowOf) {
    return llvm::map_to_vector(llvm::seq<int64_t>(0, k.rowSlots(rows.type)), rowOf);
  }
  void storeStaged(const Tile &rows) {
    auto rowOf = [&](int64_t slot) -> StagedRows::Row {
      Int row = firstRow + k.threads.row(slot);
      return {k.elementsOf(rows, slot), isThere(row), [&, row] { return k.placeOfRun(view, k.throughMap(op.getMap(), row), firstColumn); }};
    };
    e.when(runs.isAligned, [&] { staged->store(rowsOf(rows, rowOf)); }, [&] { storeRows(rows, runs.always, /*isTail=*/false); });
  }
  /// Where there is a map. A warp whose rows do not all count stores them without one. Boxes leave
  /// out the padding after the last column.
  void storeBoxes(const Tile &rows) {
    Int last = firstRow + (*k.warp + 1) * k.threads.sharing.blockRows() - 1; // of this warp
    Value areThere = ShapedType::isDynamic(view.extent(0)) ? isLess(last, endRow) : e.truth(true);
    if (int64_t width = tile.type.getExtent(1), columns = view.extent(1); columns % width != 0)
      areThere = e.both(areThere, isLess(firstColumn + (width - 1), columns));
    auto elements = rowsOf(rows, [&](int64_t slot) -> StagedRows::Row { return {k.elementsOf(rows, slot), {}, {}}; });
    e.when(
        e.both(boxes->isThere(), areThere), [&] { staged->storeBoxes(elements, *boxes, firstRow, firstColumn); },
        [&] { storeRows(rows, runs.always, /*isTail=*/false); });
  }

  KernelContext &k;
  Emitter &e;
  StoreOp op;
  const Tile &tile;
  const View &view;
  const Int firstRow, firstColumn, endRow, endColumn;
  const bool clipsRows;
  const Runs runs;
  const std::optional<KernelContext::BoundMap> boxes;
  std::optional<StagedRows> staged;
};
} // namespace

static LogicalResult storeFragments(KernelContext &k, StoreOp op, const Tile &tile, const View &view) {
  FailureOr<Int> endRow = k.end(op, view, 0), endColumn = paddedEnd(k, op, view);
  if (failed(endRow) || failed(endColumn))
    return failure();
  FragmentStore(k, op, tile, view, *endRow, *endColumn).emit();
  return success();
}

LogicalResult convertStore(KernelContext &k, StoreOp op) {
  const View &view = k.view(op.getView());
  const Tile &tile = k.tile(op.getValue());
  if (failed(k.checkLayout(op, view)))
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
} // namespace logitile::cuda

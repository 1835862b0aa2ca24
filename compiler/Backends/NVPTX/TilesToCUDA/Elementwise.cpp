// Elementwise.cpp - the operands of scalar regions, and the map op. Row states are RowState.cpp.
#include "compiler/Backends/NVPTX/TilesToCUDA/Elementwise.h"
#include "compiler/Conversion/Tiles/MapColumns.h"
using namespace mlir;

namespace logitile::cuda {
RegionInputs::RegionInputs(KernelContext &k, ValueRange values) : k(k), values(values) {
  for (Value value : values)
    tiles.push_back(k.tile(value));
}

void RegionInputs::shareRows() {
  SmallVector<Tile *> owned;
  for (Tile &tile : tiles)
    if (tile.isOwned)
      owned.push_back(&tile);
  if (owned.empty())
    return;
  Emitter &e = k.e;
  if (k.threads.sharing.haveWarpsStates()) {
    for (Tile *tile : owned)
      *tile = Tile{tile->type, {}, [&e, value = tile->values[0], rows = k.threads.sharing.blockRows()](Int row, Int) {
                     return e.valueOf(row % rows, value);
                   }};
    return;
  }
  constexpr int64_t kEntryBytes = 4;
  int64_t rows = k.threads.sharing.rows, bytes = rows * kEntryBytes;
  Int scratch = k.scratch(owned.size() * bytes);
  e.barrier();
  e.when(k.threads.hasLine(), [&] {
    for (auto [i, tile] : llvm::enumerate(owned))
      e.store(tile->values[0], e.at(e.shared(scratch + i * bytes, tile->type.getElement()), k.threads.line));
  });
  e.barrier();
  for (auto [i, tile] : llvm::enumerate(owned)) {
    Place lines = e.shared(scratch + i * bytes, tile->type.getElement());
    *tile = Tile{tile->type, {}, [&e, lines](Int row, Int) { return e.load(e.at(lines, row)); }};
  }
}

LogicalResult RegionInputs::check(Operation *op) const {
  for (auto [i, tile] : llvm::enumerate(tiles))
    if (tile.isOwned || tile.source)
      return op->emitOpError() << "reads tile " << i << ", " << tile.type << ", which is " << (tile.source ? "only copied" : "a row state")
                               << "; CUDA kernels do not support that";
  return success();
}

void RegionInputs::readColumns() {
  columns.assign(tiles.size(), {}); // those of another branch are of no use
  for (auto [tile, values] : llvm::zip_equal(tiles, columns))
    if (tile.type.getExtent(0) == 1)
      for (int64_t slot = 0; slot < k.columnSlots(tile.type); ++slot)
        values.push_back(k.element(tile, 0, slot));
}

void RegionInputs::takeInto(RowLoop &loop, Operation *op) const {
  for (auto [value, tile] : llvm::zip_equal(values, tiles))
    loop.take(tile, isLastUse(value, op));
}

RegionInputs::Row RegionInputs::readRow(const RowLoop &loop, int64_t rowSlot) {
  Row row = columns;
  for (auto [tile, values] : llvm::zip_equal(loop.tiles, row))
    if (values.empty())
      values = k.elementsOf(tile, rowSlot);
  return row;
}

void RegionInputs::mapUniform(Widener &widener, ValueRange arguments, const Row &row) const {
  for (size_t i = 0; i < tiles.size(); ++i)
    if (!isVarying(i))
      widener.map(arguments[i], row[i][0]);
}
void RegionInputs::mapColumn(Widener &widener, ValueRange arguments, const Row &row, int64_t columnSlot) const {
  for (size_t i = 0; i < tiles.size(); ++i)
    if (isVarying(i))
      widener.map(arguments[i], row[i][columnSlot]);
}
void RegionInputs::mapLine(Widener &widener, ValueRange arguments, Int line) const {
  for (size_t i = 0; i < tiles.size(); ++i)
    if (!isVarying(i) && !arguments[i].use_empty())
      widener.map(arguments[i], tiles[i].read ? tiles[i].read(line, k.e.integer(0)) : tiles[i].values[0]);
}

// ---- a row of a thread --------------------------------------------------------------------------

ThreadRow::ThreadRow(KernelContext &k, const RegionInputs &inputs, RegionInputs::Row row, ThreadColumns columns, ArrayRef<Type> kept)
    : e(k.e), inputs(inputs), columns(columns), row(std::move(row)) {
  for (Type type : kept) {
    CodeBuilder::Values &values = this->kept.emplace_back();
    if (columns.areLooped) // the arguments of a loop have values before its first turn
      values.assign(columns.count, e.number(type, 0));
  }
}

void ThreadRow::mapColumn(Widener &values, Region &region, ValueRange arguments, const Column &column) const {
  inputs.mapColumn(values, arguments, row, place(column));
  values.setColumn(region, columns.number(column.place));
}

void ThreadRow::keep(ValueRange values, size_t first) const {
  for (auto [i, value] : llvm::enumerate(values))
    kept[first + i].push_back(value);
}

/// All values that rotate through the arguments of the loop over columns.
SmallVector<CodeBuilder::Values *> ThreadRow::rings() const {
  SmallVector<CodeBuilder::Values *> rings;
  for (size_t input = 0; input < inputs.size(); ++input)
    if (inputs.isVarying(input))
      rings.push_back(&row[input]);
  for (CodeBuilder::Values &values : kept)
    rings.push_back(&values);
  return rings;
}

CodeBuilder::Values ThreadRow::forColumns(ValueRange start, Body body) const {
  CodeBuilder::Values current(start);
  if (!columns.areLooped) {
    for (int64_t slot = 0; slot < columns.count; ++slot)
      current = body({e.integer(slot), columns.inside(e.integer(slot))}, current);
    return current;
  }
  auto append = [&](CodeBuilder::Values &values) {
    for (CodeBuilder::Values *ring : rings())
      llvm::append_range(values, *ring);
  };
  auto adopt = [&](ValueRange values) {
    for (CodeBuilder::Values *ring : rings()) {
      *ring = llvm::to_vector(values.take_front(columns.count));
      values = values.drop_front(columns.count);
    }
  };
  append(current);
  CodeBuilder::Values last = e.loop(e.integer(columns.count), current, [&](Int slot, ValueRange arguments) {
    adopt(arguments.drop_front(start.size()));
    CodeBuilder::Values next = body({slot, columns.inside(slot)}, arguments.take_front(start.size()));
    for (CodeBuilder::Values *ring : rings()) {
      if (static_cast<int64_t>(ring->size()) == columns.count) // nothing was kept in this turn
        ring->push_back(ring->front());
      ring->erase(ring->begin());
    }
    append(next);
    return next;
  });
  adopt(ValueRange(last).drop_front(start.size()));
  last.truncate(start.size());
  return last;
}

// ---- maps ---------------------------------------------------------------------------------------

/// Whether row states become other values of their rows: each thread computes with its own.
static bool isOfLines(KernelContext &k, MapOp op) {
  auto isOwnOrUnused = [&](auto pair) { return std::get<0>(pair).use_empty() || k.tile(std::get<1>(pair)).isOwned; };
  return llvm::all_of(llvm::zip_equal(op.getBody().getArguments(), op.getInputs()), isOwnOrUnused) &&
         llvm::all_of(op.getResultTypes(), [&](Type type) { return k.isOwned(cast<TileType>(type)); });
}
static void mapLines(KernelContext &k, MapOp op) {
  Widener line(k.e, 0);
  for (auto [argument, input] : llvm::zip_equal(op.getBody().getArguments(), op.getInputs()))
    if (!argument.use_empty())
      line.map(argument, k.tile(input).values[0]);
  for (auto [result, value] : llvm::zip_equal(op.getResults(), line.getYielded(op.getBody()))) {
    Tile tile{cast<TileType>(result.getType()), {value}, {}};
    tile.isOwned = true;
    k.setTile(result, tile);
  }
}

LogicalResult convertMap(KernelContext &k, MapOp op) {
  if (isOfLines(k, op))
    return mapLines(k, op), success();
  RegionInputs inputs(k, op.getInputs());
  inputs.shareRows();
  if (failed(inputs.check(op)))
    return failure();
  RowLoop loop(k);
  inputs.takeInto(loop, op);
  loop.compute(op.getBody());
  SmallVector<TileType> types;
  for (Type type : op.getResultTypes()) {
    types.push_back(cast<TileType>(type));
    if (k.threads.sharing.isFragments && types.back().getExtent(0) == 1)
      return op.emitOpError() << "makes " << type << " in a kernel of tiles with several rows; CUDA kernels do not support that";
    loop.make(types.back());
  }
  int64_t count = 1;
  for (TileType type : types)
    count = std::max(count, k.columnSlots(type));
  bool areAlike = llvm::all_of(types, [&](TileType type) { return k.columnSlots(type) == count; });
  Int first = op.getColumn() ? k.scalar(op.getColumn()) : k.e.integer(0);
  auto numberOf = [&](Int slot) { return first + k.threads.column(slot); };
  auto inside = [](Int) { return Value(); }; // all of them: what does not exist is not stored
  ThreadColumns columns{count, areAlike && count > 1 && isLong(op.getBody()), numberOf, inside};
  SmallVector<Type> elements = llvm::map_to_vector(types, [](TileType type) { return type.getElement(); });
  inputs.readColumns();
  auto mapRow = [&](int64_t rowSlot) {
    ThreadRow row(k, inputs, inputs.readRow(loop, rowSlot), columns, elements);
    mapColumns(row, op.getBody(), mapUniform(k.e, row, op.getBody()), [&](const Column &, ValueRange values) { row.keep(values); });
    for (auto [i, type] : llvm::enumerate(types))
      llvm::append_range(loop.results[i], ArrayRef(row.getKept(i)).take_front(k.columnSlots(type)));
  };
  PassedTiles passed(k, op, op.getInputs());
  loop.run([&] {
    int64_t rows = types.empty() ? 0 : k.rowSlots(types.front());
    for (int64_t rowSlot = 0; rowSlot < rows; ++rowSlot)
      mapRow(rowSlot);
  });
  passed.set(passed.valuesOf(loop));
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    k.setTile(result, Tile{types[i], loop.results[i], {}});
  return success();
}
} // namespace logitile::cuda

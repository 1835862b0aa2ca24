// Elementwise.cpp - the operands of scalar regions, and the map op. Row states are RowState.cpp.
#include "compiler/Backends/NVPTX/TilesToCUDA/Elementwise.h"
#include "compiler/Conversion/Tiles/MapColumns.h"
using namespace mlir;

namespace logitile::cuda {
RegionInputs::RegionInputs(KernelContext &k, ValueRange values) : k(k), values(values) {
  for (Value value : values)
    tiles.push_back(k.tile(value));
}

LogicalResult RegionInputs::check(Operation *op) const {
  for (auto [i, tile] : llvm::enumerate(tiles))
    if (tile.isOwned || tile.source)
      return op->emitOpError() << "reads tile " << i << ", " << tile.type << ", which is " << (tile.source ? "only copied" : "a row state")
                               << "; CUDA kernels have no such use";
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
      for (int64_t slot = 0; slot < k.columnSlots(tile.type); ++slot)
        values.push_back(k.element(tile, rowSlot, slot));
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

LogicalResult convertMap(KernelContext &k, MapOp op) {
  RegionInputs inputs(k, op.getInputs());
  if (failed(inputs.check(op)))
    return failure();
  RowLoop loop(k);
  inputs.takeInto(loop, op);
  loop.compute(op.getBody());
  SmallVector<TileType> types;
  for (Type type : op.getResultTypes()) {
    types.push_back(cast<TileType>(type));
    if (k.threads.sharing.isFragments && types.back().getExtent(0) == 1)
      return op.emitOpError() << "makes " << type << " in a kernel of tiles with several rows; CUDA kernels have no such use";
    loop.make(types.back());
  }
  int64_t count = 1;
  for (TileType type : types)
    count = std::max(count, k.columnSlots(type));
  Int first = op.getColumn() ? k.scalar(op.getColumn()) : k.e.integer(0);
  auto numberOf = [&](int64_t slot) { return first + k.threads.column(slot); };
  SmallVector<Value> inside(count); // all of them: what does not exist is not stored
  inputs.readColumns();
  auto mapRow = [&](int64_t rowSlot) {
    ThreadRow row(k, inputs, inputs.readRow(loop, rowSlot), numberOf, inside);
    mapColumns(row, op, mapUniform(k.e, row, op), [&](const Column &at, ValueRange values) {
      for (auto [type, results, value] : llvm::zip_equal(types, loop.results, values))
        if (at.place.known() < k.columnSlots(type))
          results.push_back(value);
    });
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

// Elementwise.cpp - the operands of scalar regions, and the map op. Row states are RowState.cpp.
#include "compiler/Conversion/TilesToCUDA/Elementwise.h"
using namespace mlir;

namespace logitile::cuda {
RegionInputs::RegionInputs(KernelContext &k, ValueRange values) : k(k) {
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

RegionInputs::Row RegionInputs::readRow(int64_t rowSlot) {
  Row row = columns;
  for (auto [tile, values] : llvm::zip_equal(tiles, row))
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
  SmallVector<Tile> results;
  int64_t rows = 1, columns = 1;
  for (Type type : op.getResultTypes()) {
    results.push_back({cast<TileType>(type), {}, {}});
    rows = std::max(rows, k.rowSlots(results.back().type));
    columns = std::max(columns, k.columnSlots(results.back().type));
  }
  Region &body = op.getBody();
  ValueRange arguments = body.getArguments();
  Int column = op.getColumn() ? k.scalar(op.getColumn()) : k.e.integer(0);
  inputs.readColumns();
  for (int64_t rowSlot = 0; rowSlot < rows; ++rowSlot) {
    RegionInputs::Row row = inputs.readRow(rowSlot);
    Widener group(k.e, 0);
    inputs.mapUniform(group, arguments, row);
    group.emitReady(body);
    for (int64_t slot = 0; slot < columns; ++slot) {
      Widener element = group;
      inputs.mapColumn(element, arguments, row, slot);
      element.setColumn(body, column + k.threads.column(slot));
      for (auto [value, result] : llvm::zip_equal(body.front().getTerminator()->getOperands(), results))
        if (rowSlot < k.rowSlots(result.type) && slot < k.columnSlots(result.type))
          result.values.push_back(element.get(value));
    }
  }
  for (auto [result, tile] : llvm::zip_equal(op->getResults(), results))
    k.setTile(result, tile);
  return success();
}
} // namespace logitile::cuda

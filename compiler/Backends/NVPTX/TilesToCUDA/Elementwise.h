// Elementwise.h - what a scalar region reads at one element, for the thread that has it.
#pragma once
#include "compiler/Conversion/ScalarRegions.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"

namespace logitile::cuda {
/// The operands of an op with regions, each element read once.
class RegionInputs {
public:
  RegionInputs(KernelContext &k, mlir::ValueRange values);
  /// Fails with an error at 'op' where a tile holds one value for each line.
  mlir::LogicalResult check(mlir::Operation *op) const;
  size_t size() const { return tiles.size(); }
  bool isVarying(size_t input) const { return tiles[input].type.getExtent(1) > 1; }
  /// Reads what is the same in all rows.
  void readColumns();
  /// Turns of 'loop' read the operands of 'op'.
  void takeInto(RowLoop &loop, mlir::Operation *op) const;
  /// The values of one row of a turn: one for each input without columns, one for each slot of the others.
  using Row = llvm::SmallVector<CodeBuilder::Values>;
  Row readRow(const RowLoop &loop, int64_t rowSlot);
  /// Maps arguments of a region: those that are uniform in a row, then the others at one column slot.
  void mapUniform(Widener &widener, mlir::ValueRange arguments, const Row &row) const;
  void mapColumn(Widener &widener, mlir::ValueRange arguments, const Row &row, int64_t columnSlot) const;
  /// Maps the uniform arguments for row 'line' of the tile.
  void mapLine(Widener &widener, mlir::ValueRange arguments, Int line) const;

private:
  KernelContext &k;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<Tile> tiles;
  llvm::SmallVector<CodeBuilder::Values> columns; // of tiles with one row
};
} // namespace logitile::cuda

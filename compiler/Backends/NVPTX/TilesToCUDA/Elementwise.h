// Elementwise.h - what a scalar region reads at one element, for the thread that has it.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Conversion/Tiles/RowGroup.h"

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

/// One row of a thread: a scalar for each of the thread's columns.
class ThreadRow : public RowGroup {
public:
  using Numbers = llvm::function_ref<Int(int64_t slot)>;
  /// 'numbers' gives the vocabulary entry of each of the thread's column slots; 'inside' tells which of them exist, null for those
  /// that do.
  ThreadRow(KernelContext &k, const RegionInputs &inputs, RegionInputs::Row row, Numbers numbers, llvm::ArrayRef<mlir::Value> inside)
      : e(k.e), inputs(inputs), row(std::move(row)), numbers(numbers), inside(inside) {}

  int64_t lanes() const override { return 0; }
  void mapUniform(Widener &values, mlir::ValueRange arguments) const override { inputs.mapUniform(values, arguments, row); }
  void mapColumn(Widener &values, mlir::Region &region, mlir::ValueRange arguments, const Column &column) const override {
    inputs.mapColumn(values, arguments, row, column.place.known());
    values.setColumn(region, numbers(column.place.known()));
  }
  CodeBuilder::Values forColumns(mlir::ValueRange start, Body body) const override {
    CodeBuilder::Values current(start);
    for (auto [slot, isInside] : llvm::enumerate(inside))
      current = body({e.integer(static_cast<int64_t>(slot)), isInside}, current);
    return current;
  }

private:
  Emitter &e;
  const RegionInputs &inputs;
  const RegionInputs::Row row;
  const Numbers numbers;
  const llvm::ArrayRef<mlir::Value> inside;
};
} // namespace logitile::cuda

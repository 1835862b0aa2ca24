// Elementwise.h - the values that a scalar region reads at one element, in the thread that has the
// element.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Conversion/Tiles/RowGroup.h"

namespace logitile::cuda {
/// The operands of an op with regions, each element read once.
class RegionInputs {
public:
  RegionInputs(KernelContext &k, mlir::ValueRange values);
  /// Copies row states to all threads that have elements of their rows: through shared memory, or
  /// by shuffles where a warp has the states of its rows.
  void shareRows();
  /// Fails with an error at 'op' if a tile is distributed with one line for each thread.
  mlir::LogicalResult check(mlir::Operation *op) const;
  size_t size() const { return tiles.size(); }
  bool isVarying(size_t input) const { return tiles[input].type.getExtent(1) > 1; }
  /// Reads the tiles with one row, whose values are the same in all rows.
  void readColumns();
  /// Makes the operands of 'op' tiles that the turns of 'loop' read.
  void takeInto(RowLoop &loop, mlir::Operation *op) const;
  /// The values of one row of a turn, for each input: one value if the input has one column, else
  /// one value for each column slot.
  using Row = llvm::SmallVector<CodeBuilder::Values>;
  Row readRow(const RowLoop &loop, int64_t rowSlot);
  /// mapUniform maps the arguments of a region that are uniform in a row, and mapColumn maps the
  /// others at one column slot.
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

/// The columns of a thread, by their slots.
struct ThreadColumns {
  int64_t count;
  bool areLooped; // the code of a column is there once, in a loop
  llvm::function_ref<Int(Int slot)> number;         // of the vocabulary entry
  llvm::function_ref<mlir::Value(Int slot)> inside; // whether there is such an entry; null: there is
};

/// One row of a thread: a scalar for each of the thread's columns. In a loop over the columns, the
/// values of a row rotate through the loop's arguments, as those of a tile do in a loop over rows
/// (RowLoop.h). The value of the loop's current column comes first.
class ThreadRow : public RowGroup {
public:
  /// 'kept' are the types of what 'keep' gets.
  ThreadRow(KernelContext &k, const RegionInputs &inputs, RegionInputs::Row row, ThreadColumns columns,
            llvm::ArrayRef<mlir::Type> kept = {});

  int64_t lanes() const override { return 0; }
  void mapUniform(Widener &values, mlir::ValueRange arguments) const override { inputs.mapUniform(values, arguments, row); }
  void mapColumn(Widener &values, mlir::Region &region, mlir::ValueRange arguments, const Column &column) const override;
  CodeBuilder::Values forColumns(mlir::ValueRange start, Body body) const override;

  /// Keeps values of the column that 'forColumns' is at, for the types from 'first' on.
  void keep(mlir::ValueRange values, size_t first = 0) const;
  /// What was kept for a column.
  mlir::Value getKept(size_t index, const Column &column) const { return kept[index][place(column)]; }
  /// The same for all columns.
  const CodeBuilder::Values &getKept(size_t index) const { return kept[index]; }

private:
  int64_t place(const Column &column) const { return columns.areLooped ? 0 : column.place.known(); }
  llvm::SmallVector<CodeBuilder::Values *> rings() const;

  Emitter &e;
  const RegionInputs &inputs;
  const ThreadColumns columns;
  mutable RegionInputs::Row row;                     // rotates
  mutable llvm::SmallVector<CodeBuilder::Values> kept; // rotates
};
} // namespace logitile::cuda

// Elementwise.h - the tiles that a scalar region reads, as vector code: one lane for each token.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
#include "compiler/Conversion/Tiles/RowGroup.h"

namespace logitile::cpu {
/// The tiles that a region reads: tells which of them differ from line to line, and loads their
/// elements.
class RegionInputs {
public:
  RegionInputs(KernelContext &k, mlir::ValueRange tiles);
  /// Fails with an error at 'op' unless every tile has its lanes along rows, or only one line.
  mlir::LogicalResult check(mlir::Operation *op) const;
  /// Selects the region's arguments for which code is emitted; null selects all.
  using Wanted = llvm::function_ref<bool(mlir::Value)>;
  /// Maps the arguments that have the same value on all lines, for the group of lanes that starts
  /// at 'lane'.
  void mapUniform(Widener &widener, mlir::ValueRange arguments, Int lane, int64_t lanes, Wanted wanted = nullptr) const;
  /// Maps the arguments that differ from line to line, at 'line'.
  void mapLine(Widener &widener, mlir::ValueRange arguments, Int line, Int lane, int64_t lanes, Wanted wanted = nullptr) const;
  /// Whether the extent of the result in dimension 'dim' is known from one of the tiles.
  bool tellExtent(unsigned dim) const;
  /// Extents of the result. They are those of a tile that is not repeated along that dimension.
  Int rows() const;
  Int columns() const;
  bool isWhole() const;
  /// Whether one of the tiles lies in a window of 'memory'.
  bool areInWindow(mlir::StringAttr memory) const;
  /// Whether an argument of the region is the same for all tokens and lines.
  bool isScalar(mlir::Value argument) const;

private:
  mlir::Value load(size_t i, Int line, Int lane, int64_t lanes) const;
  bool isUniform(size_t i) const { return types[i].getExtent(1) == 1; }

  KernelContext &k;
  llvm::SmallVector<Tile> tiles;
  llvm::SmallVector<TileType> types;
};

/// The tokens of one group of lanes, which starts at 'lane', with 'columns' lines of the tile.
class LaneGroup : public RowGroup {
public:
  LaneGroup(KernelContext &k, const RegionInputs &inputs, Int lane, Int columns, Int firstColumn)
      : k(k), e(k.e), inputs(inputs), lane(lane), columns(columns), firstColumn(firstColumn) {}

  int64_t lanes() const override { return e.lanes; }
  void mapUniform(Widener &values, mlir::ValueRange arguments) const override { inputs.mapUniform(values, arguments, lane, e.lanes); }
  void mapColumn(Widener &values, mlir::Region &region, mlir::ValueRange arguments, const Column &column) const override {
    inputs.mapLine(values, arguments, column.place, lane, e.lanes);
    values.setColumn(region, firstColumn + column.place);
    values.setDraw([this, column](UniformOp op, mlir::ValueRange operands) { return draw(op, operands, column.place); });
  }
  CodeBuilder::Values forColumns(mlir::ValueRange start, Body body) const override {
    return e.loop(columns, start, [&](Int line, mlir::ValueRange current) { return body({line}, current); });
  }

private:
  mlir::Value draw(UniformOp op, mlir::ValueRange operands, Int line) const;

  KernelContext &k;
  Emitter &e;
  const RegionInputs &inputs;
  Int lane, columns, firstColumn;
};
} // namespace logitile::cpu

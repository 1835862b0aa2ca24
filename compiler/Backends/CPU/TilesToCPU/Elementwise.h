// Elementwise.h - the tiles that a scalar region reads, as vector code: one lane for each token.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
#include "compiler/Conversion/Tiles/RowGroup.h"

namespace logitile::cpu {
/// Tiles that a region reads: which differ from line to line, and loading their elements.
class RegionInputs {
public:
  RegionInputs(KernelContext &k, mlir::ValueRange tiles);
  /// Every tile with lanes along columns has one line; all others have their lanes along rows.
  mlir::LogicalResult check(mlir::Operation *op) const;
  /// Of the arguments, those that code is made for; null: all.
  using Wanted = llvm::function_ref<bool(mlir::Value)>;
  /// Maps the arguments that are the same on all lines, for the group of lanes from 'lane' on.
  void mapUniform(Widener &widener, mlir::ValueRange arguments, Int lane, int64_t lanes, Wanted wanted = nullptr) const;
  /// Maps the others.
  void mapLine(Widener &widener, mlir::ValueRange arguments, Int line, Int lane, int64_t lanes, Wanted wanted = nullptr) const;
  /// Whether a tile tells how far the result goes in a dimension.
  bool tellExtent(unsigned dim) const;
  /// Extents of the result: those of the tiles that are not repeated.
  Int rows() const;
  Int columns() const;
  bool isWhole() const;

private:
  mlir::Value load(size_t i, Int line, Int lane, int64_t lanes) const;
  bool isUniform(size_t i) const { return types[i].getExtent(1) == 1; }

  KernelContext &k;
  llvm::SmallVector<Tile> tiles;
  llvm::SmallVector<TileType> types;
};

/// The tokens of one group of lanes, from 'lane' on, with 'columns' lines of the tile.
class LaneGroup : public RowGroup {
public:
  LaneGroup(KernelContext &k, const RegionInputs &inputs, Int lane, Int columns, Int firstColumn)
      : e(k.e), inputs(inputs), lane(lane), columns(columns), firstColumn(firstColumn) {}

  int64_t lanes() const override { return e.lanes; }
  void mapUniform(Widener &values, mlir::ValueRange arguments) const override { inputs.mapUniform(values, arguments, lane, e.lanes); }
  void mapColumn(Widener &values, mlir::Region &region, mlir::ValueRange arguments, const Column &column) const override {
    inputs.mapLine(values, arguments, column.place, lane, e.lanes);
    values.setColumn(region, firstColumn + column.place);
  }
  CodeBuilder::Values forColumns(mlir::ValueRange start, Body body) const override {
    return e.loop(columns, start, [&](Int line, mlir::ValueRange current) { return body({line}, current); });
  }

private:
  Emitter &e;
  const RegionInputs &inputs;
  Int lane, columns, firstColumn;
};
} // namespace logitile::cpu

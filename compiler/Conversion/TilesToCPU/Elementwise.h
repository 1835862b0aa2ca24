// Elementwise.h - the scalar regions of a kernel as vector code: one lane for each token.
#pragma once
#include "compiler/Conversion/TilesToCPU/KernelContext.h"
#include "mlir/IR/IRMapping.h"

namespace logitile::cpu {
/// Clones values of scalar regions for 'lanes' lanes (0: scalars), each when it is first needed. What a copy of the clone
/// has mapped stays mapped in it: values that are emitted before a loop are not emitted inside.
class Widener {
public:
  Widener(Emitter &e, int64_t lanes) : e(e), lanes(lanes) {}

  void map(mlir::Value scalar, mlir::Value wide) { mapping.map(scalar, wide); }
  void map(mlir::ValueRange scalars, mlir::ValueRange wide) { mapping.map(scalars, wide); }
  /// The number of the vocabulary entry that 'region' is about.
  void setColumn(mlir::Region &region, Int column);
  /// Emits all ops of 'region' whose operands are known by now.
  void emitReady(mlir::Region &region);
  /// The wide form of 'scalar' and of what it is made of.
  mlir::Value get(mlir::Value scalar);
  Emitter::Values getYielded(mlir::Region &region);

private:
  Emitter &e;
  int64_t lanes;
  mlir::IRMapping mapping;
};

/// Tiles that a region reads: which differ from line to line, and loading their elements.
class RegionInputs {
public:
  RegionInputs(KernelContext &k, mlir::ValueRange tiles);
  /// Every tile with lanes along columns has one line; all others have their lanes along rows.
  mlir::LogicalResult check(mlir::Operation *op) const;
  /// Maps the arguments that are the same on all lines, for the group of lanes from 'lane' on.
  void mapUniform(Widener &widener, mlir::ValueRange arguments, Int lane, int64_t lanes) const;
  /// Maps the others.
  void mapLine(Widener &widener, mlir::ValueRange arguments, Int line, Int lane, int64_t lanes) const;
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
} // namespace logitile::cpu

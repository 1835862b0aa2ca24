// RankUpdates.h - gradients of hidden states of few tokens: a few rows of the head at a time.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"

namespace logitile::cpu {
/// Adds a product to `tile`, the gradient of hidden states from `column` on: the gradients of the
/// logits from `first` to `end` of the tokens from `row` on, times the rows `first` to `end` of the
/// head. Each block of `depth` rows is summed on its own and then added to the tile, because sums
/// of fewer numbers lose less to rounding.
class RankUpdates {
public:
  RankUpdates(KernelContext &k, const Tile &tile, TileType type, const View &gradient, const View &weight, Int row, Int column,
              int64_t depth, bool pairs);
  void emit(Int first, Int end);

private:
  void addBlock(Int first, Int end);
  void update(Int from, Int count, bool isWhole);
  void copyRows(Int from, Int count);

  KernelContext &k;
  Emitter &e;
  const Tile tile, block;
  const View &gradient, &weight;
  Int row, column;
  int64_t depth, units, copyStride; // units: rows, or pairs of them
  bool pairs;
  mlir::Type operand;
  Place coefficients, copies; // [token][unit], [row][column]
};
} // namespace logitile::cpu

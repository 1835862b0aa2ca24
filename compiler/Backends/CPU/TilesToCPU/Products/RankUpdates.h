// RankUpdates.h - gradients of hidden states of few tokens: a few rows of the head at a time.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"

namespace logitile::cpu {
/// Adds to `tile` the gradients of logits from (`row`, `first`) to `behind`, times those rows of
/// the head, from `column` on, `depth` rows at a time. Numbers of f32 lose less where neither they
/// nor their sums are many: the tile gets sums of blocks.
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

// DotProducts.h - logits of few tokens as dot products.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
#include "compiler/Schedule/FewTokens.h"

namespace logitile::cpu {
/// Computes the logits of `tile`: the rows of the head from `column` on, times the hidden states of
/// the tokens from `row` on. The elements of a hidden state are neighbours in memory.
class DotProducts {
public:
  DotProducts(KernelContext &k, const Tile &tile, const View &hidden, const View &weight, Int row, Int column);
  void emit();

private:
  /// Rows of the head times tokens, at most.
  struct Block {
    int64_t rows, tokens;
  };
  /// 'count' tokens of a line of the tile from 'first' on, and the hidden axis from 'entry' on.
  struct Range {
    Int line, first, count, entry;
  };
  /// Not with 16 registers: their tall blocks would have one token.
  bool hasTallBlocks() const { return tall.tokens > 1; }
  void rows(Int line, Block block);
  void multiply(Int line, Place head, Int stride, Block block);
  void tokens(Range range, Place head, Int stride, DotShape shape);

  KernelContext &k;
  Emitter &e;
  const Tile tile;
  const View &hidden, &weight;
  Int row, column;
  int64_t size;      // of the hidden axis
  int64_t registers; // for sums
  Block flat, tall;
  mlir::Type operand;
  Place copies, sums; // sums: of each block of tokens, vectors by row and token
};
} // namespace logitile::cpu

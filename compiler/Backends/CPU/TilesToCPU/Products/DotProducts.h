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
  /// Rows of the head whose elements are neighbours.
  struct HeadRows {
    Place first;
    Int stride;
    int64_t count;
  };
  /// Tokens of the tile.
  struct Span {
    Int first, count;
  };
  /// Where a part begins: its first entry of the hidden axis, and the first of the next rows of the
  /// head that are brought in meanwhile.
  struct Start {
    Int entry, fetched;
  };
  void rows(Int line, int64_t count);
  void multiply(Int line, const HeadRows &rows);
  void tokens(Int line, const HeadRows &rows, Span span, Start start, DotShape shape);

  KernelContext &k;
  Emitter &e;
  const Tile tile;
  const View &hidden, &weight;
  Int row, column;
  int64_t size; // of the hidden axis
  mlir::Type operand;
  Place copies, sums; // sums: of each block of tokens, vectors by row and token
};
} // namespace logitile::cpu

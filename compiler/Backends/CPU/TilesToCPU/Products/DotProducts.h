// DotProducts.h - logits of few tokens as dot products.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
#include "compiler/Schedule/FewTokens.h"

namespace logitile::cpu {
/// Computes the logits of `tile`: the rows of the head from `column` on, times the hidden states of
/// the tokens from `row` on. The elements of a hidden state are neighbours in memory.
class DotProducts {
public:
  DotProducts(KernelContext &k, const Tile &tile, const View &hidden, const View &weight, Int row, Int column)
      : k(k), e(k.e), tile(tile), hidden(hidden), weight(weight), row(row), column(column), size(weight.extent(1)),
        operand(hidden.base.element), copies(k.allocate(operand, kDotRows * copyStride())) {}
  void emit();

private:
  int64_t copyStride() const { return dotCopyStride(size); }
  void rows(Int line, int64_t count);
  void tokens(Int line, int64_t count, Place rows, Int stride);

  KernelContext &k;
  Emitter &e;
  const Tile tile;
  const View &hidden, &weight;
  Int row, column;
  int64_t size; // of the hidden axis
  mlir::Type operand;
  Place copies;
};
} // namespace logitile::cpu

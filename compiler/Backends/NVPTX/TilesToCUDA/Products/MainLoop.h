// MainLoop.h - the product of two operands over a shared axis on tensor cores: a pipeline of blocks
// in shared memory.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Staging.h"

namespace logitile::cuda {
class MainLoop {
public:
  /// Over the shared axis up to 'end', which blocks of 'depth' entries may reach past where it
  /// 'mayClip'.
  MainLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip)
      : k(k), e(k.e), left(left), right(right), depth(depth), end(end), toLeft(k, left, depth, end, mayClip),
        toRight(k, right, depth, end, mayClip) {}

  /// The tile's values after adding the product from entry 'first' on to 'start'.
  CodeBuilder::Values run(mlir::ValueRange start, Int first);

private:
  /// Operands of the products of 16 steps of the shared axis.
  struct Fragments {
    llvm::SmallVector<Planes> lefts, rights;
  };

  CodeBuilder::Values runPipelined(mlir::ValueRange start, Int first, Int count);
  CodeBuilder::Values runUnaligned(mlir::ValueRange start, Int first, Int count);
  /// Those of step `step` of the block that lies `offset` bytes from the start of shared memory.
  Fragments read(int64_t step, Int offset);
  CodeBuilder::Values multiply(const Fragments &fragments, mlir::ValueRange start);
  static CodeBuilder::Values flatten(const Fragments &fragments);
  Fragments unflatten(mlir::ValueRange values) const;
  int64_t blockBytes() const { return left.shape(depth).bytes() + right.shape(depth).bytes(); }

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const Int end;
  Stager toLeft, toRight;
};
} // namespace logitile::cuda

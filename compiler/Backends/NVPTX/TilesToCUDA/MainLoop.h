// MainLoop.h - the product of two operands over a shared axis on tensor cores: a pipeline of blocks in shared memory.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Staging.h"

namespace logitile::cuda {
/// How many blocks are on their way, and the shared memory that they take, in a kernel with contractions.
struct Pipeline {
  int64_t stages = 0, bytes = 0;
  /// Fails with an error at an op whose blocks do not fit 'limit' bytes of shared memory.
  static mlir::FailureOr<Pipeline> get(KernelOp kernel, int64_t limit);
};

class MainLoop {
public:
  MainLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth)
      : k(k), e(k.e), left(left), right(right), depth(depth) {}

  /// The tile's values after adding the product over [first, end) to 'start'.
  CodeBuilder::Values run(mlir::ValueRange start, Int first, Int end, bool mayClip);

private:
  CodeBuilder::Values multiplyBlock(Int offset, mlir::ValueRange start);

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
};
} // namespace logitile::cuda

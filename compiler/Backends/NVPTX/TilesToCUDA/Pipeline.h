// Pipeline.h - how far ahead of their products the operands of a kernel are copied.
// Products/Staging.h copies them.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"

namespace logitile::cuda {
/// How many blocks are on their way, and the shared memory that they take, in a kernel with
/// contractions. Where products are of warpgroups, 'first' bytes of it are before the first stage:
/// the mbarriers.
struct Pipeline {
  int64_t stages = 0, first = 0, bytes = 0;
  /// A product of the loop over tiles whose next tile's boxes are asked for before this tile is
  /// made use of: other ops of the kernel leave the stages alone. Null where there is none.
  ProjectOp prefetching;
  /// For blocks of 'threads'. Fails with an error at an op whose blocks do not fit 'limit' bytes of
  /// shared memory.
  static mlir::FailureOr<Pipeline> get(KernelOp kernel, int64_t threads, int64_t limit);
};
} // namespace logitile::cuda

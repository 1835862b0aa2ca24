// Pipeline.h - the shared memory for operands of products, and how far ahead they are copied.
// Products/Staging.h copies them.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"

namespace logitile::cuda {
/// The pipeline of a kernel with contractions: how many blocks of 16-bit operands are copied ahead,
/// and the shared memory for these stages, or for planes of f32, which are no stages. In products
/// of warpgroups with operands of 16 bits, the mbarriers take the 'first' bytes, before the first
/// stage.
struct Pipeline {
  int64_t stages = 0, first = 0, bytes = 0;
  /// A product in a loop over tiles that requests the boxes of the next tile before this tile is
  /// used. So other ops of the kernel must not use the memory of the stages. Null if there is no
  /// such product.
  ProjectOp prefetching;
  /// The pipeline for blocks of 'threads' threads. Fails with an error at an op whose blocks of
  /// operands do not fit in 'limit' bytes of shared memory.
  static mlir::FailureOr<Pipeline> get(KernelOp kernel, int64_t threads, int64_t limit);
};
} // namespace logitile::cuda

// BoxCopies.h - blocks of both operands of a product of warpgroups on their way to shared memory as boxes of tensor maps: one thread
// asks for them. Two mbarriers of each stage say when a block has arrived, and when all warps have read it.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Staging.h"

namespace logitile::cuda {
/// A position counts through the ring of stages twice, since the phases of mbarriers have names for two rounds. It goes on from
/// product to product.
class BoxCopies {
public:
  BoxCopies(KernelContext &k, const Operand &left, const Operand &right, int64_t depth);

  /// Where the first block of a product goes, and what has to be told where the one behind its last would.
  Int begin() { return e.integer(e.load(*k.boxPosition)); }
  void end(Int next) { e.store(next, *k.boxPosition); }

  /// By at most as many as there are stages.
  Int after(Int position, Int steps);
  Int after(Int position, int64_t steps) { return after(position, e.integer(steps)); }
  Int before(Int position) { return after(position, 2 * k.stages - 1); }
  Int slotOf(Int position);
  /// Whether this is a thread of the warp that copies, and the condition holds.
  mlir::Value isFirstWarp(mlir::Value condition);

  /// By the first warp: copies the block from entry 'shared' of the shared axis on, once all warps have read what was there.
  void copy(Int shared, Int position);
  /// Until the block at 'position' is there.
  void wait(Int position);
  /// This warp has read the block at 'position', where 'condition' holds.
  void release(Int position, mlir::Value condition);

private:
  mlir::Value parityOf(Int position, bool ofFirstRound);
  void copyOperand(const Operand &operand, Int shared, Int offset, Place mbarrier);

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const mlir::Value isFirst; // whether this is the first warp
};
} // namespace logitile::cuda

// BoxCopies.h - copies blocks of both operands of a warpgroup product to shared memory as boxes of
// tensor maps. One thread requests them. Each stage has two mbarriers: one shows that a block has
// arrived, the other that all warps have read it. Blocks of a pair copy halves of the right operand
// to each other, and wait for the warps of both.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Staging.h"

namespace logitile::cuda {
/// A position says which stage comes next, and in which of two rounds through the ring of stages:
/// the parities of mbarriers tell two rounds apart. So it counts from 0 to twice the number of
/// stages. The next product continues at the position at which a product ended. Positions, steps
/// and slots are i32: numbers of 64 bits take twice as many instructions between two products.
class BoxCopies {
public:
  BoxCopies(KernelContext &k, const Operand &left, const Operand &right, int64_t depth);
  const mlir::Value isFirst; // i1: whether this is the first warp, which copies

  /// The position of a product's first block. At the end of the product, 'end' must be called with
  /// the position after its last block.
  mlir::Value begin() { return e.narrow(e.integer(e.load(*k.boxPosition))); }
  void end(mlir::Value next) { e.store(e.extend(next), *k.boxPosition); }

  /// The position 'steps' later. 'steps' is at most the number of stages.
  mlir::Value after(mlir::Value position, mlir::Value steps);
  mlir::Value after(mlir::Value position, int64_t steps) { return after(position, e.word(steps)); }
  mlir::Value slotOf(mlir::Value position) { return within(position, k.stages); }

  /// Called by the first warp only. Waits until all warps have read the stage at 'position', then
  /// starts to copy the block that begins at entry 'shared' of the shared axis.
  void copy(Int shared, mlir::Value position);
  /// Waits until the block at 'position' has arrived.
  void wait(mlir::Value position);
  /// Tells, if 'condition' holds, that this warp has read the block in stage 'slot'.
  void release(mlir::Value slot, mlir::Value condition);

private:
  /// 'number' modulo 'end', for numbers below 2 * end.
  mlir::Value within(mlir::Value number, int64_t end);
  mlir::Value parityOf(mlir::Value position, bool ofFirstRound);
  Int indexOf(mlir::Value slot) { return e.integer(mlir::arith::ExtUIOp::create(e, e.i64, slot).getResult()); }
  /// Which lines of an operand to copy: those from 'firstLine' on. They go to the 'blocks' of a
  /// pair, or to this block if that is null.
  struct Part {
    Int firstLine;
    mlir::Value blocks;
  };
  void copyOperand(const Operand &operand, Int shared, Int offset, Place mbarrier, const Part &part);
  /// Copies half of the right operand to both blocks of a pair, or all of it if this block is
  /// alone.
  void copyShared(Int shared, Int offset, Place mbarrier);

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
};
} // namespace logitile::cuda

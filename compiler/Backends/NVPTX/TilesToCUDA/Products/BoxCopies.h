// BoxCopies.h - copies blocks of both operands of a warpgroup product to shared memory as boxes of
// tensor maps. One thread requests them. Each stage has two mbarriers: one shows that a block has
// arrived, the other that all warps have read it. Blocks of a pair copy halves of the right operand
// to each other, and wait for the warps of both.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Staging.h"

namespace logitile::cuda {
/// A position counts through the ring of stages twice, since the phases of mbarriers have names for
/// two rounds. It goes on from product to product. It is an i32, and so are steps and slots:
/// numbers of 64 bits take twice the instructions between two products.
class BoxCopies {
public:
  BoxCopies(KernelContext &k, const Operand &left, const Operand &right, int64_t depth);

  /// Where the first block of a product goes, and what has to be told where the one behind its last
  /// would.
  mlir::Value begin() { return e.narrow(e.integer(e.load(*k.boxPosition))); }
  void end(mlir::Value next) { e.store(e.extend(next), *k.boxPosition); }

  /// By at most as many as there are stages.
  mlir::Value after(mlir::Value position, mlir::Value steps);
  mlir::Value after(mlir::Value position, int64_t steps) { return after(position, word(steps)); }
  mlir::Value before(mlir::Value position) { return after(position, 2 * k.stages - 1); }
  mlir::Value slotOf(mlir::Value position) { return within(position, k.stages); }
  /// Whether this is a thread of the warp that copies, and the condition holds.
  mlir::Value isFirstWarp(mlir::Value condition);

  /// By the first warp: copies the block from entry 'shared' of the shared axis on, once all warps
  /// have read what was there.
  void copy(Int shared, mlir::Value position);
  /// Until the block at 'position' is there.
  void wait(mlir::Value position);
  /// This warp has read the block at 'position', where 'condition' holds.
  void release(mlir::Value position, mlir::Value condition);

private:
  mlir::Value word(int64_t value) { return e.constant(e.getI32IntegerAttr(value)); }
  /// Of numbers below twice the 'end': those from there on begin again.
  mlir::Value within(mlir::Value number, int64_t end);
  mlir::Value parityOf(mlir::Value position, bool ofFirstRound);
  Int indexOf(mlir::Value slot) { return e.integer(mlir::arith::ExtUIOp::create(e, e.i64, slot).getResult()); }
  /// The lines of an operand's boxes from 'firstLine' on, to the 'blocks' of a pair; to this one
  /// where null.
  struct Part {
    Int firstLine;
    mlir::Value blocks;
  };
  void copyOperand(const Operand &operand, Int shared, Int offset, Place mbarrier, const Part &part);
  /// Half of the right operand to both blocks of a pair; alone, all of it.
  void copyShared(Int shared, Int offset, Place mbarrier);

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const mlir::Value isFirst; // whether this is the first warp
};
} // namespace logitile::cuda

// BoxCopies.cpp - when blocks are requested, and how mbarriers are counted.
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/BoxCopies.h"
using namespace mlir;

namespace logitile::cuda {
BoxCopies::BoxCopies(KernelContext &k, const Operand &left, const Operand &right, int64_t depth)
    : isFirst(isEqual(*k.warp, 0)), k(k), e(k.e), left(left), right(right), depth(depth) {}

Value BoxCopies::within(Value number, int64_t end) {
  if (llvm::isPowerOf2_64(end))
    return arith::AndIOp::create(e, number, e.word(end - 1));
  Value isBelow = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, number, e.word(end));
  return arith::SelectOp::create(e, isBelow, number, arith::SubIOp::create(e, number, e.word(end)));
}

Value BoxCopies::after(Value position, Value steps) { return within(arith::AddIOp::create(e, position, steps), 2 * k.stages); }

/// 0 in the first round of the two and 1 in the second, or the other way round.
Value BoxCopies::parityOf(Value position, bool ofFirstRound) {
  Value isFirstRound = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, position, e.word(k.stages));
  return arith::SelectOp::create(e, isFirstRound, e.word(ofFirstRound), e.word(!ofFirstRound));
}

void BoxCopies::copy(Int shared, Value position) {
  Int slot = indexOf(slotOf(position));
  int64_t leftBytes = left.shape(depth).bytes(), bytes = leftBytes + right.shape(depth).bytes();
  e.waitForPhase(k.departure(slot), parityOf(position, /*ofFirstRound=*/true)); // of the block one round before
  e.when(e.elect(), [&] {
    e.arriveExpecting(k.arrival(slot), bytes);
    Int ofLeft = k.ring() + slot * bytes, ofRight = ofLeft + leftBytes;
    copyOperand(left, shared, ofLeft, k.arrival(slot), {e.integer(0), {}});
    right.isHalved ? copyShared(shared, ofRight, k.arrival(slot)) : copyOperand(right, shared, ofRight, k.arrival(slot), {e.integer(0), {}});
  });
}

void BoxCopies::copyShared(Int shared, Int offset, Place mbarrier) {
  int64_t lines = right.shape(depth).lines / kBlocksOfPair;
  auto copyHalf = [&](Int rank) { copyOperand(right, shared, offset, mbarrier, {rank * lines, k.pair->blocks}); };
  copyHalf(k.pair->rank);
  e.when(arith::XOrIOp::create(e, k.pair->isShared, e.truth(true)), [&] { copyHalf(e.integer(1) - k.pair->rank); });
}

void BoxCopies::copyOperand(const Operand &operand, Int shared, Int offset, Place mbarrier, const Part &part) {
  StageShape shape = operand.shape(depth);
  offset = offset + part.firstLine * shape.lineBytes();
  auto copy = [&](Int to, Int row, Int column) {
    e.copyBox(e.shared(to, e.getI8Type()), operand.boxes, row + part.firstLine, column - operand.firstColumn, mbarrier, part.blocks);
  };
  if (operand.isInnerShared)
    return copy(offset, operand.first, shared);
  for (int64_t panel = 0; panel < shape.panels; ++panel)
    copy(offset + panel * shape.panelBytes(), shared, operand.first + panel * shape.chunks * Boxes::kPerChunk);
}

void BoxCopies::wait(Value position) {
  e.waitForPhase(k.arrival(indexOf(slotOf(position))), parityOf(position, /*ofFirstRound=*/false));
}

void BoxCopies::release(Value slot, Value condition) {
  Value isElected = e.elect();
  e.when(e.both(condition, isElected), [&] {
    e.arrive(k.departure(indexOf(slot)));
    if (k.pair)
      e.arriveAt(arith::AddIOp::create(e, k.pair->reader, arith::MulIOp::create(e, slot, e.word(KernelContext::kMbarrierBytes))));
  });
}
} // namespace logitile::cuda

// BoxCopies.cpp - who asks for a block when, and how mbarriers are counted.
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/BoxCopies.h"
using namespace mlir;

namespace logitile::cuda {
BoxCopies::BoxCopies(KernelContext &k, const Operand &left, const Operand &right, int64_t depth)
    : k(k), e(k.e), left(left), right(right), depth(depth), isFirst(isEqual(e.uniform(e.warp()), 0)) {}

Int BoxCopies::after(Int position, Int steps) {
  Int next = position + steps;
  return choose(isLess(next, 2 * k.stages), next, next - 2 * k.stages);
}

Int BoxCopies::slotOf(Int position) { return choose(isLess(position, k.stages), position, position - k.stages); }

Value BoxCopies::isFirstWarp(Value condition) { return e.both(isFirst, condition); }

/// 0 in the first round of the two and 1 in the second, or the other way round.
Value BoxCopies::parityOf(Int position, bool ofFirstRound) {
  return e.narrow(choose(isLess(position, k.stages), e.integer(ofFirstRound), e.integer(!ofFirstRound)));
}

void BoxCopies::copy(Int shared, Int position) {
  Int slot = slotOf(position);
  int64_t leftBytes = left.shape(depth).bytes(), bytes = leftBytes + right.shape(depth).bytes();
  e.waitForPhase(k.departure(slot), parityOf(position, /*ofFirstRound=*/true)); // of the block one round before
  e.when(e.elect(), [&] {
    e.arriveExpecting(k.arrival(slot), bytes);
    copyOperand(left, shared, k.ring() + slot * bytes, k.arrival(slot));
    copyOperand(right, shared, k.ring() + slot * bytes + leftBytes, k.arrival(slot));
  });
}

void BoxCopies::copyOperand(const Operand &operand, Int shared, Int offset, Place mbarrier) {
  StageShape shape = operand.shape(depth);
  if (operand.isInnerShared)
    return e.copyBox(e.shared(offset, e.getI8Type()), operand.boxes, operand.first, shared - operand.firstColumn, mbarrier);
  for (int64_t panel = 0; panel < shape.panels; ++panel)
    e.copyBox(e.shared(offset + panel * shape.panelBytes(), e.getI8Type()), operand.boxes, shared,
              operand.first + panel * shape.chunks * Boxes::kPerChunk - operand.firstColumn, mbarrier);
}

void BoxCopies::wait(Int position) { e.waitForPhase(k.arrival(slotOf(position)), parityOf(position, /*ofFirstRound=*/false)); }

void BoxCopies::release(Int position, Value condition) {
  Value isElected = e.elect();
  e.when(e.both(condition, isElected), [&] { e.arrive(k.departure(slotOf(position))); });
}
} // namespace logitile::cuda

// Mbarriers.cpp - barriers in shared memory with phases: arrivals and announced bytes on one side, waits on the other.
// Their bookkeeping is the emulator's own; the bytes in shared memory only say who may use them.
#include "emulator/Access.h"
#include "emulator/Families.h"

namespace logitile::emulator {
namespace {
constexpr uint32_t kMbarrierBytes = 8;

uint32_t place(Thread &thread, const Op &op, const Slot *frame, AccessKind kind) {
  Block &block = *thread.block;
  const auto *address = get<const uint8_t *>(frame, 0);
  requireAligned(thread, op, Space::shared, address, kMbarrierBytes);
  touchShared({thread, thread.linear, op, kind}, address, kMbarrierBytes);
  return block.shared.offsetOf(address);
}

Report misuse(Thread &thread, const Op &op, uint32_t offset, std::string detail) {
  Report report = thread.block->describe(Fault::barrierMisuse, thread, op, "uses the mbarrier", std::move(detail));
  report.space = Space::shared;
  report.address = offset;
  return report;
}

Mbarrier &use(Thread &thread, const Op &op, uint32_t offset) {
  auto found = thread.block->mbarriers.find(offset);
  if (found == thread.block->mbarriers.end())
    thread.block->fail(misuse(thread, op, offset, "it is not initialised"));
  return found->second;
}

void completeIfDone(Block &block, Mbarrier &mbarrier) {
  if (mbarrier.pending || mbarrier.bytes)
    return;
  mbarrier.completed = mbarrier.gathering.take();
  mbarrier.pending = mbarrier.expected;
  ++mbarrier.phase;
  block.noteProgress();
  for (const Mbarrier::Waiter &waiter : mbarrier.waiters)
    block.wake(waiter.thread);
  mbarrier.waiters.clear();
}

void countArrivals(Thread &thread, const Op &op, uint32_t offset, Mbarrier &mbarrier, uint32_t count) {
  mbarrier.pending -= count;
  if (mbarrier.pending < 0)
    thread.block->fail(
        misuse(thread, op, offset, "more arrivals than the " + std::to_string(mbarrier.expected) + " it expects in a phase"));
}
} // namespace

void mbarrierInit(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const uint32_t offset = place(thread, op, frame, AccessKind::write);
  const auto count = get<uint32_t>(frame, 1);
  if (!count || count >= 1u << 20)
    block.fail(misuse(thread, op, offset, "its count is " + std::to_string(count) + ", not one of 1 to 1048575"));
  if (block.mbarriers.count(offset))
    block.fail(misuse(thread, op, offset, "it is initialised already; invalidate it first"));
  Mbarrier &mbarrier = block.mbarriers[offset];
  mbarrier.expected = count;
  mbarrier.pending = count;
}

void mbarrierInvalidate(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t offset = place(thread, op, frame, AccessKind::write);
  use(thread, op, offset);
  thread.block->mbarriers.erase(offset);
}

void mbarrierArrive(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const auto [hasCount, hasBytes, unused, order] = op.instruction.modifiers;
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  Mbarrier &mbarrier = use(thread, op, offset);
  set<uint64_t>(frame, hasCount || hasBytes ? 2 : 1, mbarrier.phase);
  if (hasBytes)
    mbarrier.bytes += get<uint32_t>(frame, 1);
  countArrivals(thread, op, offset, mbarrier, hasCount ? get<uint32_t>(frame, 1) : 1);
  mbarrier.gathering.add(block.actors, thread.linear, thread.knowledge, block.now++);
  completeIfDone(block, mbarrier);
}

void mbarrierExpect(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  use(thread, op, offset).bytes += get<uint32_t>(frame, 1);
}

void mbarrierWait(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const auto [mayBlock, isParity, unused, order] = op.instruction.modifiers;
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  Mbarrier &mbarrier = use(thread, op, offset);
  const uint64_t operand = isParity ? get<uint32_t>(frame, 1) : get<uint64_t>(frame, 1);
  if (isParity ? operand > 1 : operand > mbarrier.phase || operand + 1 < mbarrier.phase)
    block.fail(misuse(thread, op, offset,
                      "it is asked for phase " + std::to_string(operand) + (isParity ? " as a parity, which is 0 or 1" : "") +
                          " while in phase " + std::to_string(mbarrier.phase)));
  auto isDone = [&] { return isParity ? mbarrier.phase % 2 != operand : mbarrier.phase != operand; };
  if (!isDone() && mayBlock) {
    mbarrier.waiters.push_back({thread.linear, mbarrier.phase});
    block.wait(thread, op, "an mbarrier");
  } else if (!isDone()) {
    block.yieldTurn(thread, op, "an mbarrier, in a loop");
  }
  const bool done = isDone();
  set<uint8_t>(frame, 2, done);
  if (done)
    thread.knowledge.clock = block.join.join(thread.knowledge.clock, mbarrier.completed);
}

void mbarrierArriveAfterCopies(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  Mbarrier &mbarrier = use(thread, op, offset);
  if (op.instruction.modifiers[0])
    ++mbarrier.pending;
  thread.copies.arriveLater(offset, thread.block->now++, op);
}

void landPromise(Block &block, Thread &thread) {
  const AsyncCopies::Arrival arrival = thread.copies.takeArrival();
  Mbarrier &mbarrier = use(thread, *arrival.op, arrival.mbarrier);
  countArrivals(thread, *arrival.op, arrival.mbarrier, mbarrier, 1);
  mbarrier.gathering.addEngine(block.actors, block.actors.copyEngineOf(thread.linear), arrival.time);
  completeIfDone(block, mbarrier);
}
} // namespace logitile::emulator

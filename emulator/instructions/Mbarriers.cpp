// Mbarriers.cpp - barriers in shared memory with phases: arrivals and announced bytes on one side,
// waits on the other. The emulator keeps their state itself; the bytes in shared memory only show
// which threads may use them.
#include "emulator/block/Access.h"
#include "emulator/core/Families.h"

namespace logitile::emulator {
namespace {
constexpr uint32_t kMbarrierBytes = 8;
constexpr int64_t kMostPending = (1 << 20) - 1; // PTX ISA, "Contents of the mbarrier object"; of bytes too, and their negative

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

Mbarrier &useOf(Block &block, Thread &thread, const Op &op, uint32_t offset) {
  auto found = block.mbarriers.find(offset);
  if (found == block.mbarriers.end())
    thread.block->fail(misuse(thread, op, offset, "it is not initialised"));
  return found->second;
}
Mbarrier &use(Thread &thread, const Op &op, uint32_t offset) { return useOf(*thread.block, thread, op, offset); }

void countArrivals(Thread &thread, const Op &op, uint32_t offset, Mbarrier &mbarrier, uint32_t count) {
  mbarrier.pending -= count;
  if (mbarrier.pending < 0)
    thread.block->fail(
        misuse(thread, op, offset, "more arrivals than the " + std::to_string(mbarrier.expected) + " it expects in a phase"));
}

void countBytes(Thread &thread, const Op &op, uint32_t offset, Mbarrier &mbarrier, int64_t bytes) {
  mbarrier.bytes += bytes;
  if (mbarrier.bytes > kMostPending || mbarrier.bytes < -kMostPending)
    thread.block->fail(misuse(thread, op, offset,
                              "it would wait for " + std::to_string(mbarrier.bytes) + " bytes, and can for " + std::to_string(kMostPending) +
                                  " at most"));
}

bool has(ArrivalEffect effects, ArrivalEffect effect) { return (uint32_t(effects) & uint32_t(effect)) != 0; }
uint64_t stateOf(const Mbarrier &mbarrier) { return mbarrier.phase | uint64_t(mbarrier.pending) << 32; }
} // namespace

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

void mbarrierInit(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const uint32_t offset = place(thread, op, frame, AccessKind::write);
  const auto count = get<uint32_t>(frame, 1);
  if (!count || count > kMostPending)
    block.fail(misuse(thread, op, offset, "its count is " + std::to_string(count) + ", not one of 1 to " + std::to_string(kMostPending)));
  if (block.mbarriers.count(offset))
    block.fail(misuse(thread, op, offset, "it is initialised already; invalidate it first"));
  Mbarrier &mbarrier = block.mbarriers[offset];
  mbarrier.expected = count;
  mbarrier.pending = count;
  mbarrier.initThread = thread.linear;
  mbarrier.initTime = block.now;
  mbarrier.initOp = op.index;
  mbarrier.landing = block.nextLanding++;
}

void mbarrierInvalidate(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t offset = place(thread, op, frame, AccessKind::write);
  if (const size_t waiting = use(thread, op, offset).waiters.size())
    thread.block->fail(misuse(thread, op, offset, std::to_string(waiting) + " threads still wait for it"));
  thread.block->mbarriers.erase(offset);
}

void mbarrierArrive(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const auto operand = static_cast<ArrivalOperand>(op.instruction.modifiers[0]);
  const auto effects = static_cast<ArrivalEffect>(op.instruction.modifiers[1]);
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  Mbarrier &mbarrier = use(thread, op, offset);
  const uint32_t number = operand == ArrivalOperand::none ? 1 : get<uint32_t>(frame, 1);
  set<uint64_t>(frame, operand == ArrivalOperand::none ? 1 : 2, stateOf(mbarrier));
  if (operand == ArrivalOperand::bytes)
    countBytes(thread, op, offset, mbarrier, number);
  const uint32_t count = operand == ArrivalOperand::count ? number : 1;
  if (!count)
    block.fail(misuse(thread, op, offset, "an arrival counts at least 1"));
  countArrivals(thread, op, offset, mbarrier, count);
  if (has(effects, ArrivalEffect::noComplete) && !mbarrier.pending)
    block.fail(misuse(thread, op, offset, "an arrival with .noComplete is the last of its phase"));
  if (has(effects, ArrivalEffect::drop))
    mbarrier.expected -= count;
  if (!op.instruction.modifiers[2])
    mbarrier.gathering.add(block.actors, thread.linear, thread.knowledge, block.now++);
  completeIfDone(block, mbarrier);
}

void mbarrierExpect(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  countBytes(thread, op, offset, use(thread, op, offset), get<uint32_t>(frame, 1));
}

void mbarrierComplete(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  Mbarrier &mbarrier = use(thread, op, offset);
  countBytes(thread, op, offset, mbarrier, -int64_t(get<uint32_t>(frame, 1)));
  completeIfDone(*thread.block, mbarrier);
}

/// An arrival at an mbarrier of any block of the cluster orders as a release, whatever its scope.
void mbarrierArriveInCluster(Thread &thread, const Op &op, Slot *frame) {
  const auto *address = reinterpret_cast<const uint8_t *>(uintptr_t{get<uint32_t>(frame, 0)});
  requireAligned(thread, op, Space::shared, address, kMbarrierBytes);
  Block &block = liveBlockAt(thread, op, address);
  touchSharedOf(block, {thread, thread.linear, op, AccessKind::read}, address, kMbarrierBytes);
  const uint32_t offset = block.shared.offsetOf(address);
  Mbarrier &mbarrier = useOf(block, thread, op, offset);
  countArrivals(thread, op, offset, mbarrier, 1);
  if (&block == thread.block)
    mbarrier.gathering.add(block.actors, thread.linear, thread.knowledge, block.now++);
  else
    mbarrier.gathering.addOther(asOfOther(everythingOf(thread), thread.block->id));
  completeIfDone(block, mbarrier);
}

const Mbarrier &findMbarrier(Block &block, Thread &thread, const Op &op, uint32_t offset) { return useOf(block, thread, op, offset); }

void completeBytes(Block &block, const BulkLoad &load) {
  Thread &thread = *load.thread;
  Mbarrier &mbarrier = useOf(block, thread, *load.op, load.mbarrier);
  mbarrier.gathering.addEngine(block.actors, load.engine, load.time);
  if (!mbarrier.landed.op || mbarrier.landed.time < load.time)
    mbarrier.landed = {load.op, &thread, load.engine, load.time};
  countBytes(thread, *load.op, load.mbarrier, mbarrier, -int64_t{load.tile.bytes()});
  completeIfDone(block, mbarrier);
}

void mbarrierPendingCount(Thread &, const Op &, Slot *frame) {
  set<uint32_t>(frame, 1, static_cast<uint32_t>(get<uint64_t>(frame, 0) >> 32));
}

/// Fails where a wait asks for a phase that it cannot mean.
static void checkPhase(Thread &thread, const Op &op, uint32_t offset, bool isParity, uint32_t operand) {
  const uint32_t phase = use(thread, op, offset).phase;
  if (isParity ? operand <= 1 : operand <= phase && operand + 1 >= phase)
    return;
  thread.block->fail(misuse(thread, op, offset,
                            "it is asked for phase " + std::to_string(operand) + (isParity ? " as a parity, which is 0 or 1" : "") +
                                " while in phase " + std::to_string(phase)));
}

void mbarrierWait(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const auto [kind, isParity, isRelaxed, order] = op.instruction.modifiers;
  const bool mayBlock = static_cast<WaitKind>(kind) != WaitKind::test;
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  checkPhase(thread, op, offset, isParity, get<uint32_t>(frame, 1));
  auto isDone = [&] {
    const uint32_t phase = use(thread, op, offset).phase; // of an mbarrier that may have gone while others ran
    return isParity ? phase % 2 != get<uint32_t>(frame, 1) : phase != get<uint32_t>(frame, 1);
  };
  if (!isDone() && mayBlock) {
    Mbarrier &mbarrier = use(thread, op, offset);
    mbarrier.waiters.push_back({thread.linear, mbarrier.phase});
    block.wait(thread, op, "an mbarrier");
  } else if (!isDone()) {
    block.yieldTurn(thread, op, "an mbarrier, in a loop");
  }
  const bool done = isDone();
  set<uint8_t>(frame, static_cast<WaitKind>(kind) == WaitKind::attemptForTime ? 3 : 2, done);
  if (done && !isRelaxed)
    thread.knowledge.clock = block.join.join(thread.knowledge.clock, use(thread, op, offset).completed);
}

void mbarrierArriveAfterCopies(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t offset = place(thread, op, frame, AccessKind::read);
  Mbarrier &mbarrier = use(thread, op, offset);
  if (op.instruction.modifiers[0])
    ++mbarrier.pending;
  thread.copies.arriveLater(offset, thread.block->now++, op);
  ++thread.block->promises;
}

void landPromise(Block &block, Thread &thread) {
  const AsyncCopies::Arrival arrival = thread.copies.takeArrival();
  --block.promises;
  Mbarrier &mbarrier = use(thread, *arrival.op, arrival.mbarrier);
  countArrivals(thread, *arrival.op, arrival.mbarrier, mbarrier, 1);
  mbarrier.gathering.addEngine(block.actors, block.actors.copyEngineOf(thread.linear), arrival.time);
  completeIfDone(block, mbarrier);
}
} // namespace logitile::emulator

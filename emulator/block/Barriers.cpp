// Barriers.cpp - bar.sync, bar.arrive and bar.warp.sync. A barrier orders everything before it in
// the arriving threads ahead of everything after it in the waiting threads. CUDA programming guide,
// "Independent Thread Scheduling": a barrier of the whole block is for all threads that have not
// ended. Here whole warps may end before it; single lanes that end are reported, because that is
// mostly a mistake.
#include "emulator/block/Barriers.h"
#include "emulator/block/Block.h"
#include "emulator/core/Families.h"

namespace logitile::emulator {
namespace {
struct Arrival {
  Thread &thread;
  const Op &op;
  uint32_t id;
  uint32_t expected;
  bool isForAll;
};

Arrival readArrival(Thread &thread, const Op &op, const Slot *frame) {
  Block &block = *thread.block;
  const bool isForAll = static_cast<BarrierCount>(op.instruction.modifiers[0]) == BarrierCount::all;
  const auto id = get<uint32_t>(frame, 0);
  if (id >= block.barriers.size())
    block.fail(
        block.describe(Fault::barrierMisuse, thread, op, "arrives", "barrier " + std::to_string(id) + " does not exist; there are 16"));
  const uint32_t count = isForAll ? block.live : get<uint32_t>(frame, 1);
  if (!isForAll && (count % 32 || !count))
    block.fail(block.describe(Fault::barrierMisuse, thread, op, "arrives",
                              "the count of threads is " + std::to_string(count) + ", not a multiple of 32"));
  return {thread, op, id, count, isForAll};
}

/// Fails where this arrival and the earlier ones of the round cannot belong together.
void checkRound(const NamedBarrier &barrier, const Arrival &arrival) {
  Thread &thread = arrival.thread;
  Block &block = *thread.block;
  const uint32_t ended = ~block.warpOf(thread).live & block.presentIn(thread.warpIndex);
  if (arrival.isForAll && ended)
    block.fail(block.describe(Fault::barrierDivergence, thread, arrival.op, "waits",
                              "lane " + std::to_string(std::countr_zero(ended)) +
                                  " of its warp has ended without coming to this barrier of the whole block"));
  if (barrier.arrived && barrier.expected != arrival.expected)
    block.fail(block.describe(Fault::barrierMisuse, thread, arrival.op, "arrives",
                              "barrier " + std::to_string(arrival.id) + " is for " + std::to_string(arrival.expected) +
                                  " threads here, for " + std::to_string(barrier.expected) + " where others arrived"));
  const Op *place = barrier.places.empty() ? nullptr : barrier.places[thread.warpIndex];
  if (!arrival.op.instruction.modifiers[2] || !place || place == &arrival.op)
    return;
  Report report = block.describe(Fault::barrierDivergence, thread, arrival.op, "waits",
                                 "lanes of warp " + std::to_string(thread.warpIndex) + " come to barrier " + std::to_string(arrival.id) +
                                     " at two places");
  report.parties.push_back({"warp " + std::to_string(thread.warpIndex), "waits", place->name, place->source});
  block.fail(std::move(report));
}

} // namespace

void completeBarrier(Block &block, NamedBarrier &barrier) {
  const ClockRef clock = barrier.gathering.take();
  for (uint32_t waiting : barrier.waiting) {
    Thread &thread = block.threads[waiting];
    thread.knowledge.clock = clock;
    thread.votes = barrier.votes;
    thread.voters = barrier.arrived;
    block.wake(waiting);
  }
  ++block.launch.counters.barriers;
  barrier = {};
}

static uint32_t resultOf(const Thread &thread, BarrierVote vote) {
  return vote == BarrierVote::count ? thread.votes : vote == BarrierVote::all ? thread.votes == thread.voters : thread.votes != 0;
}

void blockBarrier(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const Arrival arrival = readArrival(thread, op, frame);
  NamedBarrier &barrier = block.barriers[arrival.id];
  checkRound(barrier, arrival);
  barrier.places.resize(block.warps.size());
  barrier.places[thread.warpIndex] = &op;
  barrier.expected = arrival.expected;
  barrier.isForAll = arrival.isForAll;
  barrier.gathering.add(block.actors, thread.linear, thread.knowledge, block.now++);
  const uint32_t predicate = arrival.isForAll ? 1 : 2;
  const bool votes = !op.instruction.operands.empty();
  if (votes)
    barrier.votes += get<uint32_t>(frame, predicate) & 1;
  const bool waits = static_cast<BarrierAction>(op.instruction.modifiers[1]) == BarrierAction::sync;
  if (waits)
    barrier.waiting.push_back(thread.linear);
  if (++barrier.arrived == barrier.expected)
    completeBarrier(block, barrier);
  if (waits)
    block.wait(thread, op, "a barrier");
  if (votes)
    set<uint32_t>(frame, predicate + 1, resultOf(thread, static_cast<BarrierVote>(op.instruction.operands[0])));
}

void warpBarrier(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  Block &block = *warp.block;
  Gathering gathering;
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t thread = warp.index * 32 + std::countr_zero(left);
    gathering.add(block.actors, thread, block.threads[thread].knowledge, block.now);
  }
  ++block.now;
  const ClockRef clock = gathering.take();
  for (uint32_t left = mask; left; left &= left - 1)
    block.threads[warp.index * 32 + std::countr_zero(left)].knowledge.clock = clock;
}
} // namespace logitile::emulator

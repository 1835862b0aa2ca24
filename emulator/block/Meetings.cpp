// Meetings.cpp - lanes of a warp wait for each other and the last one runs the instruction for all.
// Several instructions may share one meeting: switches between lanes cost more than most
// instructions.
#include "emulator/block/Meetings.h"

namespace logitile::emulator {
namespace {
[[noreturn]] void failDivergence(Thread &thread, const Op &op, const Op *other, uint32_t lane, std::string detail) {
  Block &block = *thread.block;
  Report report = block.describe(Fault::divergence, thread, op, "comes to", std::move(detail));
  if (other)
    report.parties.push_back(block.party(thread.warpIndex * 32 + lane, other->index, "comes to"));
  block.fail(std::move(report));
}

/// The lanes that must take part. Fails where this cannot be what the kernel means.
uint32_t participants(Thread &thread, const Warp &warp, const Meet &place, uint32_t mask) {
  const Op &op = *place.members.front().op;
  if (op.instruction.meeting == Meeting::aligned)
    return warp.live;
  const uint32_t present = thread.block->presentIn(warp.index);
  if (!(mask >> thread.lane & 1))
    failDivergence(thread, op, nullptr, 0, "its mask " + std::to_string(mask) + " does not have this lane");
  if (mask & present & ~warp.live)
    failDivergence(thread, op, nullptr, 0,
                   "its mask has lane " + std::to_string(std::countr_zero(mask & present & ~warp.live)) + ", which has ended");
  return mask & warp.live;
}

Gathered &join(Thread &thread, Warp &warp, const Meet &place, uint32_t mask) {
  const Op &op = *place.members.front().op;
  for (Gathered &meeting : warp.meetings) {
    if (meeting.place == &place && meeting.mask == mask)
      return meeting;
    if (meeting.mask & mask)
      failDivergence(thread, op, meeting.place->members.front().op, std::countr_zero(meeting.arrived),
                     "lanes of one warp must come here together");
  }
  warp.meetings.push_back({&place, mask, 0, {}});
  return warp.meetings.back();
}

void runMembers(Warp &warp, const Gathered &meeting) {
  std::array<Slot *, 32> frames = meeting.frames;
  for (const Meet::Member &member : meeting.place->members) {
    for (uint32_t left = meeting.mask; left; left &= left - 1)
      frames[std::countr_zero(left)] = meeting.frames[std::countr_zero(left)] + member.firstSlot;
    member.op->instruction.warp(warp, *member.op, frames.data(), meeting.mask);
  }
}
} // namespace

void meet(Thread *thread, const Meet *place, Slot *frame, uint32_t mask) {
  Block &block = *thread->block;
  Warp &warp = block.warpOf(*thread);
  Gathered &meeting = join(*thread, warp, *place, participants(*thread, warp, *place, mask));
  meeting.frames[thread->lane] = frame;
  meeting.arrived |= 1u << thread->lane;
  if (meeting.arrived != meeting.mask) {
    block.wait(*thread, *place->members.front().op, "the other lanes of its warp");
    return;
  }
  const Gathered whole = meeting;
  warp.meetings.erase(warp.meetings.begin() + (&meeting - warp.meetings.data()));
  runMembers(warp, whole);
  for (uint32_t left = whole.mask & ~(1u << thread->lane); left; left &= left - 1)
    block.wake(warp.index * 32 + std::countr_zero(left));
}
} // namespace logitile::emulator

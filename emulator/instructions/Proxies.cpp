// Proxies.cpp - fences between the generic proxy, through which threads access memory, and the
// asynchronous one of bulk copies and wgmma. PTX ISA, "Async proxy": a write through one proxy is
// visible to the other only after such a fence.
#include "emulator/block/Block.h"
#include "emulator/core/Families.h"

namespace logitile::emulator {
bool Block::isFenced(const Thread &thread, uint32_t actor, uint32_t time) const {
  if (const Known *known = knownOfOther(thread))
    return known->isFenced(actor, time);
  const bool isOwn = actor == thread.linear || actor == actors.strongWritesOf(thread.linear);
  if (isOwn && time <= thread.knowledge.fenced)
    return true;
  return thread.knowledge.clock->isFenced(actor, time);
}

ClockRef Block::fencedClock(const ClockRef &clock) {
  if (clock != lastUnfenced) {
    auto fenced = std::make_shared<Clock>(*clock);
    fenced->fenced = fenced->times;
    for (auto &[block, known] : fenced->blocks)
      known = std::make_shared<const Known>(Known{known->times, known->times});
    lastUnfenced = clock;
    lastFenced = std::move(fenced);
  }
  return lastFenced;
}

/// A fence anywhere on the way from the write to the access counts, also that of who accesses.
void fenceProxies(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  Knowledge &knowledge = thread.knowledge;
  knowledge.fenced = block.now++;
  knowledge.clock = block.fencedClock(knowledge.clock);
  if (knowledge.copies) {
    auto clock = std::make_shared<Clock>(*knowledge.clock);
    const uint32_t copies = block.actors.copyEngineOf(thread.linear);
    clock->times[copies] = clock->fenced[copies] = std::max(clock->times[copies], knowledge.copies);
    knowledge.clock = std::move(clock);
  }
  fenceMbarriers(thread, op, frame);
}

void fenceMbarriers(Thread &thread, const Op &, Slot *) {
  Block &block = *thread.block;
  for (auto &[offset, mbarrier] : block.mbarriers)
    mbarrier.isFenced |= block.knows(thread, mbarrier.initThread, mbarrier.initTime);
}
} // namespace logitile::emulator

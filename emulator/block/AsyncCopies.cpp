// AsyncCopies.cpp - cp.async with its groups. A copy finishes when its thread waits for it, not
// before.
#include "emulator/block/AsyncCopies.h"
#include "emulator/block/Access.h"
#include "emulator/core/Families.h"

namespace logitile::emulator {
void AsyncCopies::reset() {
  pending.clear();
  groups.clear();
  arrivals.clear();
  done = 0;
}

void AsyncCopies::issue(const Copy &copy) {
  std::memset(copy.destination, 0xff, copy.bytes); // whoever reads too early computes with NaN
  pending.push_back(copy);
}

void AsyncCopies::commit(uint32_t now) { groups.push_back(now); }

uint32_t AsyncCopies::land(uint32_t upTo) {
  while (!pending.empty() && pending.front().time <= upTo) {
    const Copy &copy = pending.front();
    std::memcpy(copy.destination, copy.source, copy.sourceBytes);
    std::memset(copy.destination + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
    pending.pop_front();
  }
  return done = std::max(done, upTo);
}

uint32_t AsyncCopies::waitGroups(uint32_t count) {
  while (groups.size() > count) {
    land(groups.front());
    groups.pop_front();
  }
  return done;
}

uint32_t AsyncCopies::waitAll(uint32_t now) {
  groups.clear();
  return land(now);
}

void AsyncCopies::arriveLater(uint32_t mbarrier, uint32_t now, const Op &op) { arrivals.push_back({mbarrier, now, &op}); }

AsyncCopies::Arrival AsyncCopies::takeArrival() {
  const Arrival arrival = arrivals.front();
  arrivals.pop_front();
  land(arrival.time);
  return arrival;
}

void copyAsync(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const uint32_t bytes = op.instruction.modifiers[0];
  auto *destination = get<uint8_t *>(frame, 0);
  const auto *source = get<const uint8_t *>(frame, 1);
  const uint32_t sourceBytes = op.instruction.modifiers[1] ? get<uint32_t>(frame, 2) : bytes;
  if (sourceBytes > bytes)
    block.fail(block.describe(Fault::outOfBounds, thread, op, "copy",
                              std::to_string(sourceBytes) + " bytes of the source do not fit the copy's " + std::to_string(bytes)));
  requireAligned(thread, op, Space::shared, destination, bytes);
  requireAligned(thread, op, Space::global, source, bytes);
  const uint32_t engine = block.actors.copyEngineOf(thread.linear);
  const Access read{thread, engine, op, AccessKind::read}, write{thread, engine, op, AccessKind::write};
  if (sourceBytes) {
    touchGlobal(read, source, sourceBytes);
    countTraffic(read, Space::global, source, sourceBytes);
  }
  touchShared(write, destination, bytes);
  countTraffic(write, Space::shared, destination, bytes);
  thread.copies.issue({destination, source, bytes, sourceBytes, block.now});
}

void commitCopies(Thread &thread, const Op &op, Slot *frame) { thread.copies.commit(thread.block->now++); }

void waitCopyGroups(Thread &thread, const Op &op, Slot *frame) {
  thread.knowledge.copies = thread.copies.waitGroups(get<uint32_t>(frame, 0));
}

void waitAllCopies(Thread &thread, const Op &op, Slot *frame) { thread.knowledge.copies = thread.copies.waitAll(thread.block->now++); }
} // namespace logitile::emulator

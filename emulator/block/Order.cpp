// Order.cpp - releases and acquires. A comparison that fails counts as an update; the order that
// this adds may hide a race.
#include "emulator/block/Order.h"
#include "emulator/block/Block.h"

namespace logitile::emulator {
namespace {
ClockRef joined(const ClockRef &one, const ClockRef &other) {
  if (!one)
    return other;
  return ClockJoin().join(one, other);
}

/// Who acquires a write knows the write as well.
ClockRef withOwnWrite(const ClockRef &clock, uint32_t actor, uint32_t now) {
  if (!clock)
    return nullptr;
  auto known = std::make_shared<Clock>(*clock);
  known->times[actor] = now;
  return known;
}

} // namespace

ClockRef everythingOf(Thread &thread) {
  Block &block = *thread.block;
  Gathering gathering;
  gathering.add(block.actors, thread.linear, thread.knowledge, block.now++);
  return gathering.take();
}

void Releases::write(uintptr_t word, uint32_t block, ByScope given, bool isUpdate) {
  auto found = words.find(word);
  if (found != words.end() && isUpdate) {
    const Release &before = found->second;
    const bool isHere = before.block == block;
    if (!isHere && !given[0] && !given[1])
      return;
    const ClockRef ofDevice = isHere ? before.clocks[1] : asOfOther(before.clocks[1], before.block);
    given = {joined(isHere ? before.clocks[0] : ofDevice, given[0]), joined(ofDevice, given[1])};
  }
  if (given[0] || given[1])
    words[word] = {block, std::move(given)};
  else if (found != words.end())
    words.erase(found);
}

ClockRef Releases::read(uintptr_t word, uint32_t block, Strength &scope) const {
  auto found = words.find(word);
  if (found == words.end())
    return nullptr;
  const Release &release = found->second;
  scope = release.block == block ? Strength::block : Strength::device;
  return release.block == block ? release.clocks[0] : asOfOther(release.clocks[1], release.block);
}

void synchronise(const Access &access, Releases &releases, const void *address) {
  const MemoryOrder order = orderOf(access.op);
  if (order.strength == Strength::weak)
    return;
  Thread &thread = access.thread;
  const uintptr_t word = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3};
  if (access.kind != AccessKind::write) {
    Strength scope;
    const ClockRef seen = releases.read(word, thread.block->id, scope);
    if (seen && scope <= order.strength) {
      ClockRef &into = order.acquires ? thread.knowledge.clock : thread.seen[scope == Strength::device];
      into = joined(into, seen);
    }
  }
  if (access.kind == AccessKind::read)
    return;
  ByScope given = thread.fenced;
  if (order.releases)
    given.fill(everythingOf(thread));
  if (order.strength == Strength::block)
    given[1] = nullptr;
  Block &block = *thread.block;
  for (ClockRef &clock : given)
    clock = withOwnWrite(clock, block.actors.strongWritesOf(thread.linear), block.now);
  if (given[0])
    ++block.now;
  releases.write(word, thread.block->id, std::move(given), access.kind == AccessKind::atomic);
}

void fence(Thread &thread, const Op &op, Slot *) {
  const MemoryOrder order = orderOf(op);
  const bool isOfDevice = order.strength == Strength::device;
  if (order.acquires)
    for (uint32_t scope = 0; scope <= isOfDevice; ++scope)
      if (ClockRef seen = std::exchange(thread.seen[scope], nullptr))
        thread.knowledge.clock = joined(thread.knowledge.clock, seen);
  if (!order.releases)
    return;
  const ClockRef known = everythingOf(thread);
  for (uint32_t scope = 0; scope <= isOfDevice; ++scope)
    thread.fenced[scope] = known;
}
} // namespace logitile::emulator

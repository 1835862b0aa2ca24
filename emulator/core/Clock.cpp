// Clock.cpp - joins clocks. Times are stamps of the block, which counts each event that others may
// wait for.
#include "emulator/core/Clock.h"
#include <algorithm>

namespace logitile::emulator {
namespace {
void joinInto(Times &into, const Times &other) {
  if (into.size() < other.size())
    into.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i)
    into[i] = std::max(into[i], other[i]);
}

void joinKnown(Known &into, const Known &other) {
  joinInto(into.times, other.times);
  joinInto(into.fenced, other.fenced);
}

void joinInto(Clock &into, const Clock &other) {
  joinKnown(into, other);
  for (const auto &[block, theirs] : other.blocks) {
    std::shared_ptr<const Known> &mine = into.blocks[block];
    if (!mine || mine == theirs) {
      mine = theirs;
      continue;
    }
    auto both = std::make_shared<Known>(*mine);
    joinKnown(*both, *theirs);
    mine = std::move(both);
  }
}

void fenceOwn(Clock &clock, const Actors &actors, uint32_t thread, uint32_t time) {
  clock.fenced.resize(actors.count());
  for (uint32_t own : {thread, actors.strongWritesOf(thread)})
    clock.fenced[own] = std::max(clock.fenced[own], time);
}
} // namespace

Engine Actors::engineOf(uint32_t actor) const {
  if (actor < kOfThread * threads)
    return static_cast<Engine>(actor / threads);
  return actor < landingOf(0) ? Engine::products : Engine::landing;
}

uint32_t Actors::threadOf(uint32_t actor) const {
  const Engine engine = engineOf(actor);
  return engine == Engine::landing ? 0 : engine == Engine::products ? (actor - productEngineOf(0)) * 32 : actor % threads;
}

std::string Actors::nameOf(uint32_t actor) const {
  const uint32_t thread = threadOf(actor);
  const std::string owner = "thread " + std::to_string(thread);
  if (engineOf(actor) == Engine::copy)
    return "copy engine of " + owner;
  if (engineOf(actor) == Engine::landing)
    return "bulk copy to shared memory";
  if (engineOf(actor) == Engine::bulkReads || engineOf(actor) == Engine::bulkWrites)
    return "bulk copy of " + owner;
  if (engineOf(actor) == Engine::products)
    return "wgmma of warp " + std::to_string(thread / 32);
  return owner + " (warp " + std::to_string(thread / 32) + ", lane " + std::to_string(thread % 32) + ")";
}

ClockRef asOfOther(const ClockRef &clock, uint32_t block) {
  if (!clock)
    return nullptr;
  auto other = std::make_shared<Clock>();
  other->times.assign(clock->times.size(), 0);
  other->blocks = clock->blocks;
  other->blocks[block] = std::make_shared<const Known>(*clock);
  return other;
}

void Gathering::add(const Actors &actors, uint32_t thread, const Knowledge &knowledge, uint32_t now) {
  if (!clock)
    clock = std::make_shared<Clock>(*knowledge.clock);
  else if (last != knowledge.clock)
    joinInto(*clock, *knowledge.clock);
  last = knowledge.clock;
  for (uint32_t own : {thread, actors.strongWritesOf(thread)})
    clock->times[own] = std::max(clock->times[own], now);
  if (knowledge.fenced)
    fenceOwn(*clock, actors, thread, knowledge.fenced);
  auto addOwn = [&](uint32_t engine, uint32_t time) { clock->times[engine] = std::max(clock->times[engine], time); };
  addOwn(actors.copyEngineOf(thread), knowledge.copies);
  addOwn(actors.bulkReadsOf(thread), knowledge.bulkReads);
  addOwn(actors.bulkWritesOf(thread), knowledge.bulkWrites);
  addOwn(actors.productEngineOf(thread / 32), knowledge.products);
}

void Gathering::addEngine(const Actors &actors, uint32_t engine, uint32_t time) {
  if (!clock)
    clock = std::make_shared<Clock>(Clock{{Times(actors.count(), 0)}});
  clock->times[engine] = std::max(clock->times[engine], time);
}

void Gathering::addOther(const ClockRef &other) {
  if (clock)
    joinInto(*clock, *other);
  else
    clock = std::make_shared<Clock>(*other);
}

ClockRef Gathering::take() {
  last = nullptr;
  return std::exchange(clock, nullptr);
}

ClockRef ClockJoin::join(const ClockRef &one, const ClockRef &other) {
  if (!other || one == other)
    return one;
  for (const Joined &before : kept)
    if (one == before.left && other == before.right)
      return before.result;
  auto joined = std::make_shared<Clock>(*one);
  joinInto(*joined, *other);
  if (kept.size() < kKept)
    kept.emplace_back();
  kept[next++ % kKept] = {one, other, joined};
  return joined;
}
} // namespace logitile::emulator

// Block.cpp - runs a block: threads take turns until all have ended or no thread can go on.
// Faults.cpp writes the text of faults.
#include "emulator/block/Cluster.h"

namespace logitile::emulator {
namespace {
thread_local Block *runningBlock = nullptr;

uint32_t countOf(const std::array<uint32_t, 3> &dims) { return dims[0] * dims[1] * dims[2]; }

std::array<uint32_t, 3> unravel(uint32_t linear, const std::array<uint32_t, 3> &dims) {
  return {linear % dims[0], linear / dims[0] % dims[1], linear / dims[0] / dims[1]};
}
} // namespace

Block &Block::running() { return *runningBlock; }
Block::RunningOnly::RunningOnly() : before(runningBlock) {}
Block::RunningOnly::~RunningOnly() { runningBlock = before; }

Block::Block(const LaunchContext &launch, Cluster &cluster, uint32_t rank, FiberStacks &stacks)
    : launch(launch), cluster(cluster), rank(rank), actors{countOf(launch.threads)}, threads(actors.threads),
      warps((actors.threads + 31) / 32), stacks(stacks) {
  traffic.reset(static_cast<uint32_t>(warps.size()), static_cast<uint32_t>(launch.ops.size()), launch.counters);
}

void Block::reset(std::array<uint32_t, 3> blockIndex) {
  index = blockIndex;
  id = launch.global.startBlock();
  now = 1;
  live = actors.threads;
  current = 0;
  wasFaulty = wasInterrupted = false;
  startIdling();
  resting.clear();
  barriers = {};
  mbarriers.clear();
  nextLanding = 0;
  loads.clear();
  promises = 0;
  releases.clear();
  warpgroups.assign((warps.size() + 3) / 4, {});
  freeRegisters = 0;
  lastUnfenced = lastFenced = nullptr;
  shared.reset(launch.sharedBytes, static_cast<uint32_t>(warps.size()));
  scheduler.reset(static_cast<uint32_t>(warps.size()), launch.seed ? launch.seed + id : 0);
  for (uint32_t i = 0; i < warps.size(); ++i)
    warps[i] = Warp{this, i, 0, launch.registers, {}, {}};
  const auto start = std::make_shared<const Clock>(Clock{{Times(actors.count(), 0)}});
  for (uint32_t i = 0; i < actors.threads; ++i) {
    resetThread(i);
    threads[i].knowledge = {};
    threads[i].knowledge.clock = start;
  }
}

void Block::resetThread(uint32_t linear) {
  Thread &thread = threads[linear];
  thread.tid = unravel(linear, launch.threads);
  thread.ntid = launch.threads;
  thread.ctaid = index;
  thread.nctaid = launch.grid;
  thread.lane = linear % 32;
  thread.warpIndex = linear / 32;
  thread.shared = shared.base();
  thread.block = this;
  thread.linear = linear;
  thread.fiber = rank * actors.threads + linear;
  thread.hasArrived = false;
  thread.hasEnded = false;
  thread.turns = Thread::kTurns;
  thread.waiting = {};
  thread.copies.reset();
  thread.bulk = {};
  thread.fenced = {};
  thread.seen = {};
  thread.stackPointer = stacks.start(thread.fiber, threadMain);
  warps[thread.warpIndex].live |= 1u << thread.lane;
  scheduler.add(linear);
}

void Block::start(void *&hostStack) { enter(scheduler.take(0).value_or(0), hostStack); }

void Block::enter(uint32_t thread, void *&from) {
  runningBlock = this;
  current = thread;
  logitileSwitchFiber(&from, threads[thread].stackPointer);
}

void Block::noteProgress() { cluster.noteProgress(); }

void Block::threadMain() {
  Block &block = running();
  block.launch.kernel(block.launch.arguments);
  block.endThread(block.currentThread());
}

[[gnu::no_sanitize_address]] void Block::endThread(Thread &thread) {
  endBulkCopies(thread);
  thread.hasEnded = true;
  noteProgress();
  --live;
  Warp &warp = warpOf(thread);
  warp.live &= ~(1u << thread.lane);
  checkEnd(thread);
  if (!cluster.live())
    cluster.leave();
  cluster.leaveBarrier(thread);
  reschedule();
}

std::optional<uint32_t> Block::takeNext() {
  std::optional<uint32_t> next = scheduler.take(current);
  if (!next || scheduler.tossed(4)) {
    for (uint32_t thread : resting)
      scheduler.add(thread);
    resting.clear();
  }
  return next ? next : scheduler.take(current);
}

[[gnu::no_sanitize_address]] void Block::reschedule(bool othersFirst) {
  if (scheduler.tossed(4))
    progressEngines();
  const std::optional<Cluster::Turn> next = cluster.takeNext(*this, othersFirst);
  if (!next) {
    cluster.reportDeadlock();
    cluster.leave();
  }
  void *&from = threads[current].stackPointer;
  if (next->block != this || next->thread != current)
    next->block->enter(next->thread, from);
}

bool Block::progressEngines() {
  if (!loads.empty()) {
    landLoad(*this, scheduler.random(static_cast<uint32_t>(loads.size())));
    return true;
  }
  const uint32_t first = scheduler.random(actors.threads);
  if (!promises)
    return false;
  for (uint32_t i = 0; i < actors.threads; ++i) {
    Thread &thread = threads[(first + i) % actors.threads];
    if (!thread.copies.hasArrival())
      continue;
    landPromise(*this, thread);
    return true;
  }
  return false;
}

void Block::wait(Thread &thread, const Op &op, std::string_view what) {
  thread.waiting = {&op, what};
  reschedule();
  thread.waiting = {};
}

void Block::yieldTurn(Thread &thread, const Op &op, std::string_view what) {
  thread.waiting = {&op, what};
  ++idleTurns;
  if (idleTurns > kIdleTurns * actors.threads && !cluster.progressEngines()) {
    cluster.reportDeadlock();
    cluster.leave();
  }
  rest(thread, op, what);
}

void Block::restInLoop(Thread &thread, const Op &op) {
  idleTurns = 0; // what others poll for may come of this loop
  loopTurns += Thread::kTurns;
  const std::string_view what = "the end of a loop";
  thread.waiting = {&op, what};
  if (loopTurns > launch.turns) {
    reportEndless();
    cluster.leave();
  }
  if (loopTurns % kTurnsPerQuestion == 0 && launch.interrupt()) {
    wasInterrupted = true;
    cluster.leave();
  }
  rest(thread, op, what);
}

void Block::rest(Thread &thread, const Op &op, std::string_view what) {
  thread.waiting = {&op, what};
  thread.turns = Thread::kTurns;
  resting.push_back(thread.linear);
  reschedule(/*othersFirst=*/true);
  thread.waiting = {};
}

void Block::wake(uint32_t thread) {
  noteProgress();
  scheduler.add(thread);
}

void countTurn(Thread *thread, const Op *op) {
  if (!--thread->turns)
    thread->block->restInLoop(*thread, *op);
}

const Known *Block::knownOfOther(const Thread &thread) const {
  static const Known kNothing;
  if (thread.block == this)
    return nullptr;
  const auto &blocks = thread.knowledge.clock->blocks;
  auto found = blocks.find(id);
  return found == blocks.end() ? &kNothing : found->second.get();
}

bool Block::knows(const Thread &thread, uint32_t actor, uint32_t time) const {
  if (const Known *known = knownOfOther(thread))
    return actor < known->times.size() && time <= known->times[actor];
  if (time <= thread.knowledge.clock->times[actor] || actor == thread.linear || actor == actors.strongWritesOf(thread.linear))
    return true;
  if (actor == actors.productEngineOf(thread.warpIndex))
    return time <= thread.knowledge.products;
  if (actor == actors.bulkReadsOf(thread.linear))
    return time <= thread.knowledge.bulkReads;
  if (actor == actors.bulkWritesOf(thread.linear))
    return time <= thread.knowledge.bulkWrites;
  return actor == actors.copyEngineOf(thread.linear) && time <= thread.knowledge.copies;
}
} // namespace logitile::emulator

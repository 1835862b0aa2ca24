// Cluster.cpp - blocks of a cluster take turns on one thread of the host. Their barrier and what
// they do to each other's shared memory are instructions (instructions/Clusters.cpp).
#include "emulator/block/Cluster.h"
#include <algorithm>
#include <numeric>

namespace logitile::emulator {
Cluster::Cluster(const LaunchContext &launch) {
  const auto [x, y, z] = launch.threads;
  FiberStacks &stacks = launch.global.stacks.of(launch.cluster * x * y * z);
  for (uint32_t rank = 0; rank < launch.cluster; ++rank)
    blocks.emplace_back(launch, *this, rank, stacks);
}

bool Cluster::isValid() const { return std::ranges::all_of(blocks, &Block::isValid); }
bool Cluster::isInterrupted() const { return std::ranges::any_of(blocks, &Block::isInterrupted); }

bool Cluster::run(std::array<uint32_t, 3> firstIndex) {
  barrier = {};
  barrier.gatherings.resize(size());
  barrier.completed.resize(size());
  for (Block &block : blocks) {
    block.reset(firstIndex);
    ++firstIndex[0];
  }
  Block::RunningOnly running; // a handler of a signal may run other blocks
  blocks.front().start(hostStack);
  for (Block &block : blocks)
    block.traffic.finish();
  return std::ranges::none_of(blocks, [](const Block &block) { return block.hasFailed() || block.isInterrupted(); });
}

// Before what never returns, the address sanitizer cleans the stack of the host's thread; fibers
// have others, where it stumbles over what earlier fibers left.
[[gnu::no_sanitize_address]] void Cluster::leave() {
  void *dropped = nullptr; // nobody comes back to this fiber
  logitileSwitchFiber(&dropped, hostStack);
  __builtin_unreachable();
}

Block *Cluster::blockAt(const void *address) {
  const auto found = std::ranges::find_if(blocks, [&](const Block &block) { return block.shared.isNear(address); });
  return found == blocks.end() ? nullptr : &*found;
}

uint32_t Cluster::live() const {
  return std::accumulate(blocks.begin(), blocks.end(), 0u, [](uint32_t sum, const Block &block) { return sum + block.live; });
}

std::optional<Cluster::Turn> Cluster::takeNext(Block &from, bool othersFirst) {
  do {
    const uint32_t first = size() == 1 ? 0 : from.rank + othersFirst + from.scheduler.random(size());
    for (uint32_t i = 0; i < size(); ++i) {
      Block &block = blocks[(first + i) % size()];
      if (const std::optional<uint32_t> thread = block.takeNext())
        return Turn{&block, *thread};
    }
  } while (progressEngines());
  return std::nullopt;
}

bool Cluster::progressEngines() {
  return std::ranges::any_of(blocks, [](Block &block) { return block.progressEngines(); });
}

void Cluster::noteProgress() {
  for (Block &block : blocks)
    block.startIdling();
}

void Cluster::reportDeadlock() {
  for (Block &block : blocks)
    if (block.live)
      block.reportDeadlock();
}

/// What the threads of block 'rank' know when all have come.
static ClockRef togetherFor(Cluster &cluster, uint32_t rank, const std::vector<ClockRef> &clocks) {
  Gathering all;
  if (clocks[rank])
    all.addOther(clocks[rank]);
  for (uint32_t other = 0; other < cluster.size(); ++other)
    if (other != rank && clocks[other])
      all.addOther(asOfOther(clocks[other], cluster.at(other).id));
  return all.take();
}

void completeIfDone(Cluster &cluster) {
  ClusterBarrier &barrier = cluster.barrier;
  if (!barrier.arrived || barrier.arrived != cluster.live())
    return;
  std::vector<ClockRef> clocks;
  for (Gathering &gathering : barrier.gatherings)
    clocks.push_back(gathering.take());
  for (uint32_t rank = 0; rank < cluster.size(); ++rank)
    barrier.completed[rank] = togetherFor(cluster, rank, clocks);
  barrier.arrived = 0;
  ++barrier.phase;
  cluster.noteProgress();
  for (const Thread *thread : std::exchange(barrier.waiting, {}))
    thread->block->wake(thread->linear);
}

/// PTX ISA, "barrier.cluster": it is for the threads that have not ended.
void Cluster::leaveBarrier(const Thread &thread) {
  if (thread.hasArrived && thread.arrivedIn == barrier.phase)
    --barrier.arrived;
  completeIfDone(*this);
}
} // namespace logitile::emulator

// Cluster.h - blocks that run together: their turns, and what they share. A launch without clusters
// has clusters of one block.
#pragma once
#include "emulator/block/Block.h"

namespace logitile::emulator {
/// barrier.cluster, in its current phase.
struct ClusterBarrier {
  uint32_t phase = 0, arrived = 0;
  std::vector<Gathering> gatherings; // by block
  std::vector<ClockRef> completed;   // by block: what is known once the last phase has ended
  std::vector<Thread *> waiting;
};

class Cluster {
public:
  /// Allocates what clusters of 'launch' need.
  explicit Cluster(const LaunchContext &launch);
  /// Whether there was memory for stacks and shared memory.
  bool isValid() const;
  bool isInterrupted() const;
  /// Runs the blocks of the cluster whose first block has this index until they end. False if a
  /// fault or an interrupt stopped them.
  bool run(std::array<uint32_t, 3> firstIndex);

  uint32_t size() const { return static_cast<uint32_t>(blocks.size()); }
  Block &at(uint32_t rank) { return blocks[rank]; }
  /// The block whose shared memory is at or near an address; null where there is none.
  Block *blockAt(const void *address);
  /// The number of threads that have not ended.
  uint32_t live() const;

  struct Turn {
    Block *block;
    uint32_t thread;
  };
  /// The thread that runs next, after a thread of 'from'. 'othersFirst': threads of other blocks
  /// are preferred. None if all threads that have not ended wait for each other.
  std::optional<Turn> takeNext(Block &from, bool othersFirst);
  bool progressEngines();
  /// Records that something has happened for which other threads may wait.
  void noteProgress();
  void reportDeadlock();
  /// Switches back to the caller of 'run'.
  [[noreturn]] void leave();
  /// The barrier goes on without a thread that ends.
  void leaveBarrier(const Thread &thread);

  ClusterBarrier barrier;

private:
  std::deque<Block> blocks;
  void *hostStack = nullptr;
};

/// Ends a phase of the barrier to which all threads that have not ended have come.
void completeIfDone(Cluster &cluster);
} // namespace logitile::emulator

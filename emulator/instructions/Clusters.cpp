// Clusters.cpp - the barrier of a cluster, and arrivals at mbarriers of its other blocks. Copies to
// several blocks are BulkCopies.cpp.
#include "emulator/block/Access.h"
#include "emulator/block/Cluster.h"
#include "emulator/core/Families.h"

namespace logitile::emulator {
namespace {
[[noreturn]] void misuse(Thread &thread, const Op &op, std::string detail) {
  thread.block->fail(thread.block->describe(Fault::barrierMisuse, thread, op, "uses the cluster", std::move(detail)));
}
} // namespace

void clusterArrive(Thread &thread, const Op &op, Slot *) {
  Block &block = *thread.block;
  if (thread.hasArrived)
    misuse(thread, op, "it arrives at the barrier again, and has not waited for it");
  ClusterBarrier &barrier = block.cluster.barrier;
  thread.hasArrived = true;
  thread.arrivedIn = barrier.phase;
  if (!op.instruction.modifiers[0])
    barrier.gatherings[block.rank].add(block.actors, thread.linear, thread.knowledge, block.now++);
  ++barrier.arrived;
  completeIfDone(block.cluster);
}

void clusterWait(Thread &thread, const Op &op, Slot *) {
  Block &block = *thread.block;
  ClusterBarrier &barrier = block.cluster.barrier;
  if (!thread.hasArrived)
    misuse(thread, op, "it waits for the barrier, and has not arrived");
  if (thread.arrivedIn == barrier.phase) {
    barrier.waiting.push_back(&thread);
    block.wait(thread, op, "the barrier of its cluster");
  }
  thread.hasArrived = false;
  thread.knowledge.clock = block.join.join(thread.knowledge.clock, barrier.completed[block.rank]);
}

void mapShared(Thread &thread, const Op &op, Slot *frame) {
  Block &block = *thread.block;
  const auto *address = get<const uint8_t *>(frame, 0);
  const auto rank = get<uint32_t>(frame, 1);
  if (rank >= block.cluster.size())
    misuse(thread, op, "there is no block " + std::to_string(rank) + " in its cluster of " + std::to_string(block.cluster.size()));
  if (!block.shared.isNear(address))
    misuse(thread, op, "the address is none of the shared memory of its block");
  set<const uint8_t *>(frame, 2, block.cluster.at(rank).shared.base() + block.shared.offsetOf(address));
}

Block &liveBlockAt(Thread &thread, const Op &op, const uint8_t *address) {
  Block *block = thread.block->cluster.blockAt(address);
  if (!block)
    misuse(thread, op, "the address is in the shared memory of no block of its cluster");
  if (!block->live)
    misuse(thread, op, "block " + std::to_string(block->rank) + " of its cluster has ended; it has to wait for who still uses its memory");
  return *block;
}
} // namespace logitile::emulator

// Traffic.h - combines the requests of a warp's lanes, as the memories of a GPU do, and counts
// sectors and bank conflicts. It reports no faults.
#pragma once
#include "emulator/core/Report.h"
#include <deque>
#include <memory>

namespace logitile::emulator {
class Traffic {
public:
  /// One request of a warp: each lane in 'mask' asks for 'bytes' bytes.
  struct Request {
    uint32_t mask = 0;
    uint64_t bytes = 0;
    std::array<uint64_t, 32> addresses = {};
  };
  void reset(uint32_t warps, uint32_t ops, Counters &counters);
  /// Records one lane's request at one instruction. The n-th requests of all lanes at an
  /// instruction are one request of the warp. That request is complete once all lanes of the mask
  /// 'live' have taken part.
  void note(Space space, uint32_t warp, uint32_t op, uint32_t lane, uint32_t live, uint64_t address, uint64_t bytes);
  /// Counts the requests that are still incomplete.
  void finish();
  /// Counts one complete request of shared memory.
  void countShared(const Request &request);

private:
  struct Queue {
    Space space;
    std::deque<Request> open;
    uint64_t counted = 0;
    std::array<uint64_t, 32> lanes = {}; // requests of each lane so far
  };
  void countFirst(Queue &queue);
  void countGlobal(const Request &request);

  std::vector<std::unique_ptr<Queue>> queues; // per warp, instruction and memory
  uint32_t opCount = 0;
  Counters *counters = nullptr;
};
} // namespace logitile::emulator

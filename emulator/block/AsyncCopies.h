// AsyncCopies.h - the copy engine of one thread: copies from global to shared memory that finish as
// late as is legal. Until then their destination holds poison. The instructions are in
// AsyncCopies.cpp.
#pragma once
#include "emulator/core/Instruction.h"
#include <deque>

namespace logitile::emulator {
class AsyncCopies {
public:
  struct Copy {
    uint8_t *destination;
    const uint8_t *source;
    uint32_t bytes, sourceBytes; // zeros follow the source's bytes
    uint32_t time;
  };
  void reset();
  void issue(const Copy &copy);
  /// Makes the copies since the last call a group. 'now' is the time of the block.
  void commit(uint32_t now);
  /// Finishes all copies except those of the last 'groups' groups. Returns the time up to which
  /// copies are done.
  uint32_t waitGroups(uint32_t groups);
  /// Finishes all copies, including those in no group.
  uint32_t waitAll(uint32_t now);

  /// Promises an arrival at 'mbarrier' when all copies so far have finished.
  void arriveLater(uint32_t mbarrier, uint32_t now, const Op &op);
  struct Arrival {
    uint32_t mbarrier, time;
    const Op *op; // the instruction that promised it
  };
  bool hasArrival() const { return !arrivals.empty(); }
  /// Finishes the copies that the oldest promise waits for, and returns its arrival.
  Arrival takeArrival();

private:
  uint32_t land(uint32_t upTo);

  std::deque<Copy> pending;
  std::deque<uint32_t> groups; // the time of each commit whose group has not been waited for
  std::deque<Arrival> arrivals;
  uint32_t done = 0;
};
} // namespace logitile::emulator

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
  /// Closes a group at a time of the block.
  void commit(uint32_t now);
  /// Lands all but the last 'groups' committed ones. Returns the time up to which copies are done.
  uint32_t waitGroups(uint32_t groups);
  /// Lands everything, also what no group holds.
  uint32_t waitAll(uint32_t now);

  /// Has 'mbarrier' arrived at once all copies so far have landed.
  void arriveLater(uint32_t mbarrier, uint32_t now, const Op &op);
  struct Arrival {
    uint32_t mbarrier, time;
    const Op *op; // that promised it
  };
  bool hasArrival() const { return !arrivals.empty(); }
  /// Lands what the oldest promise waits for.
  Arrival takeArrival();

private:
  uint32_t land(uint32_t upTo);

  std::deque<Copy> pending;
  std::deque<uint32_t> groups; // the time of each commit whose group has not been waited for
  std::deque<Arrival> arrivals;
  uint32_t done = 0;
};
} // namespace logitile::emulator

// Scheduler.h - chooses the thread of a block that runs next: the same warp as long as possible, or
// at random from a seed. Only threads that wait for nothing are in here.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace logitile::emulator {
class Scheduler {
public:
  void reset(uint32_t warps, uint64_t seed);
  void add(uint32_t thread) { add(thread / 32, 1u << thread % 32); }
  void add(uint32_t warp, uint32_t lanes);
  /// Removes and returns the thread that runs next: if possible, the next one after 'current' in
  /// its warp. None if no thread can run.
  std::optional<uint32_t> take(uint32_t current);
  /// In random schedules, true with probability 1 / 'sides'; otherwise false.
  bool tossed(uint32_t sides) { return isRandom && random(sides) == 0; }
  /// A random number below 'bound'; 0 if schedules are not random.
  uint32_t random(uint32_t bound);

private:
  std::vector<uint32_t> ready; // lanes per warp
  uint32_t warps = 0;          // those with ready lanes
  uint64_t state = 0;
  bool isRandom = false;
};
} // namespace logitile::emulator

// KernelCounters.h - counters of a launch, on devices that count. Only the emulator does.
#pragma once
#include <cstdint>

namespace logitile {
/// Work of one launch, summed over its blocks.
struct KernelCounters {
  uint64_t matrixInstructions = 0;                    // mma of one warp
  uint64_t globalReadBytes = 0, globalWriteBytes = 0; // requested by threads
  uint64_t globalSectors = 0;                         // 32-byte sectors that each warp's requests touch
  uint64_t sharedReadBytes = 0, sharedWriteBytes = 0;
  uint64_t sharedWavefronts = 0, bankConflicts = 0; // passes over the banks, and those beyond the fewest possible
  uint64_t barriers = 0;                            // of whole blocks or named groups, per completion

  KernelCounters &operator+=(const KernelCounters &other) {
    matrixInstructions += other.matrixInstructions;
    globalReadBytes += other.globalReadBytes;
    globalWriteBytes += other.globalWriteBytes;
    globalSectors += other.globalSectors;
    sharedReadBytes += other.sharedReadBytes;
    sharedWriteBytes += other.sharedWriteBytes;
    sharedWavefronts += other.sharedWavefronts;
    bankConflicts += other.bankConflicts;
    barriers += other.barriers;
    return *this;
  }
};
} // namespace logitile

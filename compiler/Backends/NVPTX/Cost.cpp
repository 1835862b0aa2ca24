// Cost.cpp - the rates, from the table of chips and the share of memory's rate that an H200
// reached. They rank schedules and tile sizes; seconds are for measuring.
#include "compiler/Backends/NVPTX/Cost.h"
using namespace logitile;

Machine cuda::getMachine(const Gpu &gpu) {
  constexpr double kMemoryShare = 0.9; // measured: 4.3 of 4.8 TB/s
  constexpr double kProductsOfF32 = 6; // of three bf16 planes each
  constexpr double kLoneTask = 0.75; // bench/sass_model.py predicts 0.72 for an a100, 0.77 for an h100
  // Bytes a cycle for each multiprocessor: shared memory has 32 banks of 4 bytes, and 24 are 5.5
  // TB/s measured for the L2.
  constexpr double kSharedBytes = 128, kCacheBytes = 24;
  const GpuChip &chip = *gpu.chip;
  double cycles = chip.multiprocessors * chip.hertz;
  Machine machine;
  machine.flops = chip.libraryShare * chip.tensorRate / kProductsOfF32;
  machine.speedOf16Bit = kProductsOfF32;
  machine.loneTaskShare = kLoneTask;
  machine.memoryRate = kMemoryShare * chip.memoryRate;
  machine.nearRate = kSharedBytes * cycles;
  machine.farRate = kCacheBytes * cycles;
  machine.nearBytes = gpu.info().sharedBytes;
  machine.farBytes = chip.cacheBytes;
  machine.units = chip.multiprocessors;
  machine.blockSeconds = 200e-9;
  machine.launchSeconds = 4e-6;
  return machine;
}

// Cost.cpp - the rates, from measurements of the microkernels (bench/peak) on one class of machine
// per tier. They rank schedules and tile sizes; seconds are for measuring.
#include "compiler/Backends/CPU/Cost.h"
using namespace logitile;

Machine cpu::getMachine(CpuTier tier, int64_t threads) {
  // One core of a server CPU at about 3.7 GHz: two 128-bit multiply-adds a cycle on the portable
  // tier, one or two wide ones above; a core reads memory at some 20 GB/s when all of them do.
  // AMX is on processors of Intel: 64 operations of float32 a cycle at some 2.7 GHz. Kernels reach
  // seven times as many of bfloat16 there, of the sixteen times that tile registers could do.
  constexpr double kFlops[] = {25e9, 59e9, 117e9, 117e9, 173e9, 173e9};
  const CpuTierInfo &info = getTierInfo(tier);
  Machine machine;
  machine.flops = kFlops[static_cast<int>(tier)] * threads;
  machine.speedOf16Bit = info.hasAmxTiles ? 7 : info.hasBf16Dot ? 2 : 1;
  // Measured on Zen 4, float32 and bfloat16 of 37 tokens: dot products and rank updates reach it,
  // of the rate of panels.
  machine.fewTokensShare = 0.7;
  // Measured on Emerald Rapids: 0.5 ns on 16 lanes, for the sum of exponentials and for the
  // gradient of cross entropy. Fewer lanes are assumed to take as much longer.
  machine.logitSeconds = 8e-9 / info.lanes / threads;
  machine.memoryRate = 20e9 * threads;
  machine.pageRate = 2e9 * threads;
  machine.mostOldBytes = int64_t(32) << 20; // CpuDevice.cpp of the runtime gets pages of larger results anew
  machine.units = threads;
  machine.registerRows = info.tileRows;
  machine.panelWidth = info.panelWidth();
  // Cores with AMX have a larger L2 cache, and their L3 cache is slower: it is beside all cores.
  machine.nearBytes = int64_t(info.hasAmxTiles ? 2 : 1) << 20;
  machine.farBytes = int64_t(32) << 20;
  machine.nearRate = 100e9 * threads;
  machine.farRate = (info.hasAmxTiles ? 15e9 : 35e9) * threads;
  machine.blockSeconds = 8e-9;
  machine.launchSeconds = 2e-6 + 0.5e-6 * threads;
  return machine;
}

// Machine.h - the rates of one machine for the cost model: those of its backend, or measured ones.
#pragma once
#include <cstdint>

namespace logitile {
/// Rates of all units of a machine together. A unit runs one task at a time: it is a thread of a
/// CPU, or a multiprocessor of a GPU.
struct Machine {
  double flops = 0;           // a second, contractions of f32 operands
  double speedOf16Bit = 1;    // how much faster contractions of 16-bit operands are
  double loneTaskShare = 1;   // of a unit's rate: what a task reaches that has the unit for itself
  double fewTokensShare = 1;  // of the rate: what contractions of few tokens reach
  double logitSeconds = 0;    // what the functions of a loss take for one logit in one sweep, such as an exponential
  double memoryRate = 0;      // bytes a second from the main memory
  double pageRate = 0;        // bytes a second at which new pages of results come from the system; 0: pages take no time
  int64_t mostOldBytes = 0;   // up to this size, a result is usually in pages that the process already has
  double nearRate = 0;        // bytes a second from the cache of a unit
  double farRate = 0;         // bytes a second from the cache that all units share
  int64_t nearBytes = 0;      // of the cache of one unit
  int64_t farBytes = 0;       // of the shared cache
  int64_t units = 1;
  int64_t registerRows = 0;   // rows of a register tile; 0: the sums of a tile stay in registers until it is done
  int64_t panelWidth = 1;     // columns of a register tile
  double blockSeconds = 0;    // the overhead of a block of the shared axis, for one tile or register tile
  double launchSeconds = 0;   // the overhead of a launch: until all units have begun, and until all have ended
};

/// Measured rates of one unit of this machine, in units of 1e9 a second. 0: not measured.
struct UnitRates {
  double float32 = 0, bfloat16 = 0; // multiplications and additions of either type
  double memory = 0, pages = 0;     // bytes as memoryRate and pageRate

  /// Whether bfloat16 is multiplied faster if it is widened to float32 first.
  bool areFasterInFloat32() const { return float32 > bfloat16; }
};

/// 'machine' with its rates replaced by the measured ones.
inline Machine measuredMachine(Machine machine, const UnitRates &rates) {
  const double units = 1e9 * static_cast<double>(machine.units);
  if (rates.float32 > 0)
    machine.flops = rates.float32 * units;
  if (rates.float32 > 0 && rates.bfloat16 > 0 && machine.speedOf16Bit != 1)
    machine.speedOf16Bit = rates.bfloat16 / rates.float32;
  if (rates.memory > 0)
    machine.memoryRate = rates.memory * units;
  if (rates.pages > 0)
    machine.pageRate = rates.pages * units;
  return machine;
}
} // namespace logitile

// Machine.h - the rates of one machine that the cost model calculates with.
#pragma once
#include <cstdint>

namespace logitile {
/// Rates of all units of a machine together. A unit is what runs one task at a time: a thread of a CPU, a multiprocessor of a GPU.
/// These are plain numbers, so that rates measured on a machine can take the place of those of its backend.
struct Machine {
  double flops = 0;           // a second, contractions of f32 operands
  double speedOf16Bit = 1;    // how much faster contractions of 16-bit operands are
  double memoryRate = 0;      // bytes a second from the main memory
  double nearRate = 0;        // bytes a second from the cache of a unit
  double farRate = 0;         // bytes a second from the cache that all units share
  int64_t nearBytes = 0;      // of the cache of one unit
  int64_t farBytes = 0;       // of the shared cache
  int64_t units = 1;
  int64_t registerRows = 0;   // rows of a register tile; 0: the sums of a tile stay in registers until it is done
  int64_t panelWidth = 1;     // columns of a register tile
  double blockSeconds = 0;    // what begins and ends a block of the shared axis of one tile, or of one register tile
  double launchSeconds = 0;   // from a launch until all units have begun, and until they have ended
};
} // namespace logitile

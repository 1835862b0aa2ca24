// TileCost.h - what the sizes of its tiles do to the time of a contraction, for ranking sizes before any is measured.
// Rates of a target as a whole are Roofline.h.
#pragma once
#include "compiler/Target.h"

namespace logitile {
/// rows x lanes sums of 'depth' products each, cut into tiles. A task makes one tile, block by block of the shared axis.
struct TiledContraction {
  int64_t rows = 0, lanes = 0, depth = 0;
  int64_t tileRows = 1, tileLanes = 1, tileDepth = 1;
  int64_t operandBytes = 4; // of an element of either operand
  int64_t tasks = 0;        // where several tiles are one task; 0: as many as tiles
};

/// What a target has for tiles.
struct TileMachine {
  double flops = 0;                                 // of all units together, f32 contractions
  double speedOf16Bit = 1;
  int64_t units = 1;                                // what tasks run on: threads, or multiprocessors
  int64_t registerRows = 0;                         // rows of a register tile; 0: sums stay in registers all the way
  int64_t panelWidth = 1;                           // lanes of a register tile
  int64_t nearBytes = 0, farBytes = 0;              // caches of a unit, and of all units
  double nearRate = 0, farRate = 0, memoryRate = 0; // bytes a second, all units
  double blockSeconds = 0;                          // around one block of a tile's, or of a register tile's, shared axis
  double launchSeconds = 0;                         // until all units have begun and ended
};
TileMachine getTileMachine(const Target &target, int64_t threads);

/// Predicted seconds. Without tiles they would be flops / rate.
double tiledSeconds(const TiledContraction &contraction, const TileMachine &machine);
/// The same without what tiles cost.
double idealSeconds(const TiledContraction &contraction, const TileMachine &machine);
} // namespace logitile

// TileCost.h - the effect of tile sizes on the time of a contraction, for ranking sizes before
// measuring. The rates are those of a target (compiler/Target/Machine.h).
#pragma once
#include "compiler/Target/Machine.h"

namespace logitile {
/// rows x lanes sums of 'depth' products each, cut into tiles. A task makes one tile, block by
/// block of the shared axis.
struct TiledContraction {
  int64_t rows = 0, lanes = 0, depth = 0;
  int64_t tileRows = 1, tileLanes = 1, tileDepth = 1;
  int64_t operandBytes = 4; // of an element of either operand
  int64_t tasks = 0;        // where several tiles are one task; 0: as many as tiles
  int64_t rowsTogether = 1, lanesTogether = 1; // tiles along an axis that fetch the operand of the other one once
};

/// Predicted seconds. Without tiles they would be flops / rate.
double tiledSeconds(const TiledContraction &contraction, const Machine &machine);
/// The same without what tiles cost.
double idealSeconds(const TiledContraction &contraction, const Machine &machine);
} // namespace logitile

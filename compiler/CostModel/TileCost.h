// TileCost.h - the effect of tile sizes on the time of a contraction, for ranking sizes before
// measuring. The rates are those of a target (compiler/Target/Machine.h).
#pragma once
#include "compiler/Target/Machine.h"

namespace logitile {
/// A matrix product that is cut into tiles: 'rows' x 'lanes' sums of 'depth' products each. A task
/// computes one tile. It goes through the shared axis in blocks of 'tileDepth'.
struct TiledContraction {
  int64_t rows = 0, lanes = 0, depth = 0;
  int64_t tileRows = 1, tileLanes = 1, tileDepth = 1;
  int64_t operandBytes = 4; // of an element of either operand
  int64_t tasks = 0;        // their number, if a task has several tiles; 0: as many as tiles
  /// How many neighbouring tiles along the rows, and along the lanes, share one fetch of the
  /// operand of the other axis.
  int64_t rowsTogether = 1, lanesTogether = 1;
};

/// Predicted seconds, with the costs of cutting the product into tiles.
double tiledSeconds(const TiledContraction &contraction, const Machine &machine);
/// Predicted seconds without those costs: operations / peak rate.
double idealSeconds(const TiledContraction &contraction, const Machine &machine);
} // namespace logitile

// Philox.h - random numbers in integer arithmetic, with the same bits on every target.
#pragma once
#include "compiler/Conversion/Lanes.h"
#include <array>

namespace logitile {
/// The four words of Philox 4x32-10 for a counter under a key; all are i32 of one shape. Ten rounds
/// pass every test of BigCrush: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
/// 1, 2, 3", SC 2011.
std::array<Lanes, 4> philox(std::array<Lanes, 4> counter, std::array<Lanes, 2> key);

/// `logitile.uniform`: a float in the open interval (0, 1) of the first word for the counter
/// (column, token, 0, 0) under the key (seed, stream). Neither its logarithm nor log1p(-u) is 0 or
/// infinite.
Lanes uniform(Lanes seed, Lanes stream, Lanes token, Lanes column);
} // namespace logitile

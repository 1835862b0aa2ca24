// TileTable.h - default tile sizes of each target, from the tables in templates/.
#pragma once
#include "compiler/Target.h"
#include <optional>
#include <string>

namespace logitile {
/// Tile sizes that the templates' parameters are bound to.
struct TileSizes {
  int64_t TM = 0;        // tokens of a tile, at most
  int64_t TN = 0;        // vocabulary entries of a tile
  int64_t TD = 0;        // hidden entries of a tile of a gradient, at most
  int64_t TKproject = 0; // blocks of the shared axis in units of 4 bytes of it: hidden,
  int64_t TKhidden = 0;  // vocabulary,
  int64_t TKweight = 0;  // tokens
};
/// The table's sizes for 'target' in kernels that hold 'values' tiles of TM x TN at a time; null, with the reason in
/// 'error', where the table has none or is not well formed.
std::optional<TileSizes> findTileSizes(const Target &target, int64_t values, std::string &error);
} // namespace logitile

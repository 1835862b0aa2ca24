// TileTable.h - tile sizes: from the table of a target, or from a request.
#pragma once
#include "compiler/Request.h"
#include "compiler/Target/Target.h"
#include <optional>
#include <string>
#include <vector>

namespace logitile {
/// Tile sizes that the templates' parameters are bound to.
struct TileSizes {
  int64_t TM = 0;        // tokens of a tile, at most
  int64_t TN = 0;        // vocabulary entries of a tile
  int64_t TD = 0;        // hidden entries of a tile of a gradient, at most
  int64_t TKproject = 0; // blocks of the shared axis in units of 4 bytes of it: hidden,
  int64_t TKhidden = 0;  // vocabulary,
  int64_t TKweight = 0;  // tokens
  int64_t cluster = 1;   // GPUs: blocks of threads that share an operand
};
/// What "TM=64,TN=128" says; null, with the reason in 'error', where it cannot be read.
std::optional<TileChoice> parseTileChoice(std::string_view text, std::string &error);

/// What parseTileChoice reads: "TM=64,TN=128,..." with all sizes, but a cluster of 1.
std::string spellTileSizes(const TileSizes &sizes);

/// All sizes of the table that serve kernels of 'target' with 'values' tiles of TM x TN at a time,
/// the default first. Empty, with the reason in 'error', where any row of the table is wrong, or
/// the target has none.
std::vector<TileSizes> listTileSizes(const Target &target, int64_t values, std::string &error);

/// The default with the sizes of 'choice', which has clusters only where it names them. Null, with
/// the reason in 'error', also where kernels cannot have such tiles.
std::optional<TileSizes> findTileSizes(const Target &target, int64_t values, const TileChoice &choice, std::string &error);

/// For Target::refuseTiles: which of the sizes 'names' is no multiple of 'unit'; "" where all of
/// them are.
std::string refuseUnlessMultiples(const Target &target, const TileSizes &sizes, std::initializer_list<std::string_view> names,
                                  int64_t unit);
} // namespace logitile

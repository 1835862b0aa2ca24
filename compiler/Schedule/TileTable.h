// TileTable.h - tile sizes: from the table of a target, or from a request.
#pragma once
#include "compiler/Request.h"
#include "compiler/Target/Target.h"
#include <optional>
#include <string>
#include <vector>

namespace logitile {
/// Tile sizes: values for the parameters of templates.
struct TileSizes {
  int64_t TM = 0;        // tokens of a tile, at most
  int64_t TN = 0;        // vocabulary entries of a tile
  int64_t TD = 0;        // hidden entries of a tile of a gradient, at most
  // Sizes of a block of the shared axis, in units of 4 bytes along it:
  int64_t TKproject = 0; // of logits, along the hidden axis
  int64_t TKhidden = 0;  // of gradients of hidden states, along the vocabulary
  int64_t TKweight = 0;  // of gradients of weights, along the tokens
  int64_t cluster = 1;   // GPUs: blocks of threads that share an operand
};
/// Reads a text such as "TM=64,TN=128". None, with the reason in 'error', if the text is wrong.
std::optional<TileChoice> parseTileChoice(std::string_view text, std::string &error);

/// A text for parseTileChoice: "TM=64,TN=128,..." with all sizes; a cluster of 1 is left out.
std::string spellTileSizes(const TileSizes &sizes);

/// All rows of the target's table that fit kernels which hold 'values' tiles of TM x TN at a time.
/// The default comes first. Empty, with the reason in 'error', if any row of the table is wrong or
/// the target has no table.
std::vector<TileSizes> listTileSizes(const Target &target, int64_t values, std::string &error);

/// The default sizes, replaced by those of 'choice'. Clusters have one block unless 'choice' names
/// another number. None, with the reason in 'error', if kernels cannot have such tiles.
std::optional<TileSizes> findTileSizes(const Target &target, int64_t values, const TileChoice &choice, std::string &error);

/// For Target::refuseTiles: an error text if one of the sizes 'names' is not a multiple of 'unit',
/// else "".
std::string refuseUnlessMultiples(const Target &target, const TileSizes &sizes, std::initializer_list<std::string_view> names,
                                  int64_t unit);
} // namespace logitile

// StageTrace.h - the texts of all stages of a compilation, and the origin of each line. No MLIR
// here, because the runtime includes this file.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace logitile {
/// A line that another one was made of. 'file' is the name of the stage before, or of a skeleton or
/// a user's file.
struct LinePlace {
  std::string file;
  int64_t line; // from 1
};

/// The module after a pass that changed it.
struct TracedPass {
  std::string name, text;
};

/// A kernel or another symbol of a stage, which begins at 'line' (from 1) and goes on to the next
/// one.
struct TracedSymbol {
  std::string name;
  int64_t line;
};

/// A launch of the stage `plan`: "TM=64,TN=128" are the tile sizes of its skeleton, "" where it has
/// none.
struct TracedTiles {
  std::string kernel, sizes;
};

struct TracedStage {
  std::string name; // of the stage; "asm" is the assembly of what stage "obj" holds
  std::string text;
  std::vector<std::vector<LinePlace>> origins; // by line of the text
  std::vector<TracedSymbol> symbols;           // in the order of their lines
  std::vector<TracedTiles> tiles;              // of the kernels, in stage `plan` alone
  std::vector<TracedPass> passes;              // in the order that they ran in
};

/// JSON: a list of {"stage", "text", "origins", "symbols", "tiles", "passes"}. An origin is [file,
/// line], a symbol [name, line], tiles are [kernel, sizes], a pass [name, text].
std::string writeTrace(const std::vector<TracedStage> &stages);
} // namespace logitile

// Request.h - what a program is made for: everything but the number of tokens, which belongs to calls.
// The compiler's own request, with a number of tokens, is in compiler/Compile.h.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include <map>
#include <optional>

namespace logitile {
enum class ProgramMode : uint8_t { Forward, Early, Split };

struct Request {
  std::string spec;        // text of the spec stage, without locations: it is what the key sees
  std::string locatedSpec; // the same with locations, for the compiler's diagnostics; "": 'spec' itself
  std::vector<PairPlan> pairs;
  std::map<std::string, ElementType> dense; // Dense inputs: element type in memory
  std::vector<std::string> gradients;       // "z.hidden", "z.weight", "bias", ...
  std::map<std::string, ElementType> gradientElements;
  ProgramMode mode = ProgramMode::Forward;
  int64_t workspace = 0; // bytes; 0 where 'chunks' is given
  int64_t chunks = 0;
  bool accumulate = false; // weight gradients are added into the caller's f32 buffers
  std::string target;      // canonical name, "cpu:avx2"
  int64_t threads = 1;
  std::optional<SlicePlan> slice; // of the vocabulary, where the caller has one
  std::string tiles;       // "TM=64,TN=128" instead of the tile table; "": the table
};
} // namespace logitile

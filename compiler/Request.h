// Request.h - what a program is made for: everything but the number of tokens, which each call has
// its own of. No MLIR or LLVM here: the runtime includes it.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include <map>
#include <optional>

namespace logitile {
/// Element types by name.
using ElementTypes = std::map<std::string, ElementType>;
/// Tile sizes by name: TM, TN, ...
using TileChoice = std::map<std::string, int64_t, std::less<>>;

/// The members are the rows of Request.def. None of them has a value at first.
struct Request {
#define LOGITILE_REQUEST(Type, member, name) Type member{};
#include "compiler/Request.def"
};
} // namespace logitile

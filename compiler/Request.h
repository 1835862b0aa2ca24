// Request.h - what a program is compiled for. The number of tokens is not part of it, because it
// differs from call to call. No MLIR or LLVM here, because the runtime includes this file.
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

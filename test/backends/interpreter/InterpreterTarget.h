// InterpreterTarget.h - the interpreter as the compiler asks about it: targets whose code is the
// text of the stage `tiles`.
#pragma once
#include "compiler/Target/Backend.h"

namespace logitile::interpreter {
/// What comes before the colon in the names of its targets, "interpreter:scalar" and
/// "interpreter:fixed"; the second one has tiles of fixed sizes, and units that they may leave
/// idle.
inline constexpr std::string_view kPrefix = "interpreter", kFeatures = "scalar", kFixedFeatures = "fixed";
std::unique_ptr<Backend> makeBackend();
} // namespace logitile::interpreter

// InterpreterTarget.h - the interpreter as the compiler asks about it: targets whose code is the
// text of the stage `tiles`.
#pragma once
#include "compiler/Target/Backend.h"

namespace logitile::interpreter {
/// What comes before the colon in the name of its one target, "interpreter:scalar".
inline constexpr std::string_view kPrefix = "interpreter", kFeatures = "scalar";
std::unique_ptr<Backend> makeBackend();
} // namespace logitile::interpreter

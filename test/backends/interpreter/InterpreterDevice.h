// InterpreterDevice.h - the interpreter as the runtime asks about it.
#pragma once
#include "runtime/device/Platform.h"

namespace logitile::interpreter {
std::unique_ptr<Platform> makePlatform();
} // namespace logitile::interpreter

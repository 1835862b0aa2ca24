// EmulatorPlatform.h - emulated GPUs in the registry of platforms.
#pragma once
#include "runtime/device/Platform.h"

namespace logitile {
std::unique_ptr<Platform> makeEmulatorPlatform();
} // namespace logitile

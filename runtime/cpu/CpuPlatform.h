// CpuPlatform.h - the host CPU in the registry of platforms.
#pragma once
#include "runtime/device/Platform.h"

namespace logitile {
std::unique_ptr<Platform> makeCpuPlatform();
} // namespace logitile

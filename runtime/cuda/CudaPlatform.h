// CudaPlatform.h - NVIDIA GPUs in the registry of platforms.
#pragma once
#include "runtime/device/Platform.h"

namespace logitile {
std::unique_ptr<Platform> makeCudaPlatform();
} // namespace logitile

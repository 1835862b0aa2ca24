// BuiltInPlatforms.cpp - the platforms of this library. Others register themselves
// (runtime/device/Platform.h).
#include "runtime/device/Platform.h"
#include "runtime/cpu/CpuPlatform.h"
#include "runtime/cuda/CudaPlatform.h"
#include "runtime/emulator/EmulatorPlatform.h"
using namespace logitile;

std::vector<std::unique_ptr<Platform>> logitile::makeBuiltInPlatforms() {
  std::vector<std::unique_ptr<Platform>> platforms;
  platforms.push_back(makeCpuPlatform());
  platforms.push_back(makeCudaPlatform());
  platforms.push_back(makeEmulatorPlatform());
  return platforms;
}

// WithoutCompiler.cpp - what takes the place of the compiler in the library that only runs plans.
// It has no emulator either, which needs LLVM's code generation.
#include "runtime/cpu/CpuPlatform.h"
#include "runtime/cuda/CudaPlatform.h"
#include "runtime/device/Platform.h"
#include "runtime/engine/Compiler.h"
using namespace logitile;

std::vector<std::unique_ptr<Platform>> logitile::makeBuiltInPlatforms() {
  std::vector<std::unique_ptr<Platform>> platforms;
  platforms.push_back(makeCpuPlatform());
  platforms.push_back(makeCudaPlatform());
  return platforms;
}

/// Only what is compiled is kept on disk.
std::shared_ptr<Engine> logitile::makeEngine(const Engine::Options &options) {
  Engine::Options inMemory = options;
  inMemory.disk = std::nullopt;
  return std::make_shared<Engine>(CompileFunction(), inMemory);
}

std::optional<Machine> logitile::machineOf(const std::string &, int64_t) { return std::nullopt; }

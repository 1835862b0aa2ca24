// BuiltIn.cpp - the backends of this library. Others register themselves
// (compiler/Target/Backend.h).
#include "compiler/Backends/CPU/CPUTarget.h"
#include "compiler/Backends/NVPTX/GPUTarget.h"
using namespace logitile;

std::vector<std::unique_ptr<Backend>> logitile::makeBuiltInBackends() {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(cpu::makeBackend());
  backends.push_back(cuda::makeBackend());
  backends.push_back(cuda::makeEmulatorBackend());
  return backends;
}

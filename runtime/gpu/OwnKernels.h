// OwnKernels.h - the runtime's own GPU kernels as texts: call_kernels.cpp, compiled when logitile is built.
#pragma once
#include <string_view>

namespace logitile::gpu {
/// For sm_80 and everything later.
std::string_view ownKernelsPtx();
/// LLVM IR for the emulator.
std::string_view ownKernelsIr();
} // namespace logitile::gpu

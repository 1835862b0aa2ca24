// OwnKernels.h - the runtime's own GPU kernels as texts: call_kernels.cpp, compiled when logitile
// is built.
#pragma once
#include <string_view>

namespace logitile::gpu {
/// Their names.
inline constexpr std::string_view kOwnKernels[] = {"compact_tokens", "fill_rows",     "load_input",        "set_divisor",
                                                   "load_cotangent", "check_indices", "report_indices",    "scatter_tokens",
                                                   "reduce_tokens",  "store_vector",  "zero_ignored_rows", "scale_elements"};
/// For sm_80 and everything later.
std::string_view ownKernelsPtx();
/// LLVM IR for the emulator.
std::string_view ownKernelsIr();
} // namespace logitile::gpu

// GPU.h - NVIDIA GPUs: names, compute capabilities, chips, and the properties on which kernels
// depend. No MLIR or LLVM here, because the runtime includes this file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace logitile {
/// Bytes of arguments that every driver passes to a kernel, and those that drivers from R530 on do.
inline constexpr int64_t kParameterBytes = 4096, kMostParameterBytes = 32764;

/// What a compute capability fixes, or its variant with instructions of its own: code for sm_90a
/// runs on 9.0 and on nothing else.
struct GpuInfo {
  std::string_view architecture; // "sm_90"
  int sm;                        // 90 for sm_90 and sm_90a
  bool hasOwnInstructions;       // those of the variant: products of warpgroups
  int64_t sharedBytes;       // of a block, at most
  std::string_view chip;     // the one that a target without a chip stands for
  int64_t sumsPerThread;     // sums of 16-bit products, at most, that a thread has registers for
};

/// What differs between chips of one compute capability. Code is the same for all of them;
/// predicted times are not.
struct GpuChip {
  std::string_view name;     // as in "cuda:sm_90:h100"
  int sm;
  int64_t multiprocessors;
  double hertz;              // boost clock
  int64_t cacheBytes;        // L2
  double memoryRate;         // bytes a second of the data sheet
  double tensorRate;         // operations a second of the data sheet: dense products of bf16, sums in f32
  double libraryShare;       // of tensorRate: what cuBLAS reaches for large products
};

/// The GPU of a target: "sm_90", "sm_90:h100", "sm_90a". Names that NVIDIA has but this compiler
/// has no code for, such as "sm_100a", are none.
struct Gpu {
  const GpuInfo *capability = nullptr; // neither is null in what parse returns
  const GpuChip *chip = nullptr;

  /// Null where 'features' is none of these names.
  static std::optional<Gpu> parse(std::string_view features);
  /// Without the chip where it is the default of the compute capability.
  std::string features() const;
  std::string architecture() const { return std::string(info().architecture); }
  const GpuInfo &info() const { return *capability; }
  /// Whether its code runs on a device of compute capability 'sm' / 10.
  bool runsOn(int sm) const { return info().hasOwnInstructions ? sm == info().sm : sm >= info().sm; }
};

/// "sm_80, sm_86, ...; a chip may follow, as in sm_90:h100: a100, ...".
std::string listGpus();
} // namespace logitile

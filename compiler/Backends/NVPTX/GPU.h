// GPU.h - NVIDIA GPUs: names, compute capabilities, chips, and the properties on which kernels
// depend. No MLIR or LLVM here, because the runtime includes this file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace logitile {
/// The most bytes of kernel arguments: for every driver, and for drivers from R530 on.
inline constexpr int64_t kParameterBytes = 4096, kMostParameterBytes = 32764;

/// The properties of a compute capability, or of its variant with extra instructions. Code for such
/// a variant runs on that compute capability only: code for sm_90a runs on 9.0 only.
struct GpuInfo {
  std::string_view architecture; // "sm_90"
  int sm;                        // 90 for sm_90 and sm_90a
  bool hasOwnInstructions;       // whether this is such a variant: it has products of warpgroups
  int64_t sharedBytes;       // the most that a block may have
  std::string_view chip;     // the chip of a target that names none
  int64_t sumsPerThread;     // the most sums of products for which a thread has registers
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

  /// None if 'features' is not such a name.
  static std::optional<Gpu> parse(std::string_view features);
  /// The name that 'parse' reads. The chip is left out if it is the default of the compute
  /// capability.
  std::string features() const;
  std::string architecture() const { return std::string(info().architecture); }
  const GpuInfo &info() const { return *capability; }
  /// Whether its code runs on a device of compute capability 'sm' / 10.
  bool runsOn(int sm) const { return info().hasOwnInstructions ? sm == info().sm : sm >= info().sm; }
};

/// "sm_80, sm_86, ...; a chip may follow, as in sm_90:h100: a100, ...".
std::string listGpus();
} // namespace logitile

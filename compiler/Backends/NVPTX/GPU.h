// GPU.h - names of NVIDIA GPUs: compute capabilities, chips, and what kernels depend on.
// No MLIR or LLVM here: the runtime includes it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace logitile {
/// Bytes of arguments that every driver passes to a kernel, and those that drivers from R530 on do.
inline constexpr int64_t kParameterBytes = 4096, kMostParameterBytes = 32764;

/// What a compute capability fixes.
struct GpuInfo {
  int sm;                    // 80 for sm_80
  int64_t sharedBytes;       // of a block, at most
  std::string_view chip;     // the one that a target without a chip stands for
  int64_t sumsPerThread;     // sums of 16-bit products, at most, that a thread has registers for
};

/// What differs between chips of one compute capability. Code is the same for all of them; predicted times are not.
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

/// The GPU of a target: "sm_90", "sm_90:h100". Names that NVIDIA has but this compiler has no code for, such as "sm_90a", are none.
struct Gpu {
  int sm = 0;
  const GpuChip *chip = nullptr; // never null in what parse returns

  /// Null where 'features' is none of these names.
  static std::optional<Gpu> parse(std::string_view features);
  /// Without the chip where it is the default of the compute capability.
  std::string features() const;
  /// "sm_90".
  std::string architecture() const { return "sm_" + std::to_string(sm); }
  const GpuInfo &info() const;
};

/// "sm_80, sm_86, ...; a chip may follow, as in sm_90:h100: a100, ...".
std::string listGpus();
} // namespace logitile

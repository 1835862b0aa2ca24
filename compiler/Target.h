// Target.h - what a program is compiled for: the kind of device and the features that code generation depends on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace logitile {
enum class DeviceKind { Cpu, Cuda, Emulator };

/// Instruction sets of CPUs that code is generated for, each including those before it.
enum class CpuTier { Portable, Avx2, Avx512, Avx512Bf16 };

/// Facts of a CPU tier that layouts and microkernels depend on.
struct CpuTierInfo {
  std::string_view name;     // as in "cpu:avx2" and LOGITILE_CPU_TIER
  std::string_view llvmCpu;  // what LLVM generates code for
  std::string_view features; // LLVM feature string beyond the CPU's own
  int64_t lanes;             // f32 values of a vector register
  int64_t panelVectors;      // vectors of one packed panel, and columns of a microkernel's register tile
  int64_t tileRows;          // rows of a microkernel's register tile
  bool hasFma;
  bool hasBf16Dot;           // multiplies pairs of bf16 into f32

  /// f32 values of one packed panel.
  int64_t panelWidth() const { return lanes * panelVectors; }
};
const CpuTierInfo &getTierInfo(CpuTier tier);

struct Target;
/// Bytes of arguments that every driver passes to a kernel, and those that drivers from R530 on do.
inline constexpr int64_t kParameterBytes = 4096, kMostParameterBytes = 32764;

/// Facts of a GPU that kernels depend on.
struct GpuInfo {
  int sm;
  int64_t sharedBytes; // of a block, at most
};
/// Those of 'target', which is a GPU.
const GpuInfo &getGpuInfo(const Target &target);

struct Target {
  DeviceKind kind = DeviceKind::Cpu;
  CpuTier tier = CpuTier::Portable; // CPUs
  int sm = 0;                       // GPUs: 80 for sm_80
  std::string suffix;               // GPUs: "a" for sm_90a

  /// "cpu:avx512_bf16", "cuda:sm_80", "emu:sm_90a"; the same text for the same code.
  std::string canonicalName() const;
  /// The GPUs that there is code for: "sm_80, sm_86, ...".
  static std::string knownGpus();
  /// Null where 'name' is none of these.
  static std::optional<Target> parse(std::string_view name);
  /// The CPU of this process, by its features. LOGITILE_CPU_TIER may lower the tier; one that the machine lacks is
  /// refused: then 'error' says why and the result is null.
  static std::optional<Target> host(std::string &error);
};
} // namespace logitile

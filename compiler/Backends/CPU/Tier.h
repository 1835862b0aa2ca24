// Tier.h - instruction sets of CPUs: their names, the properties on which layouts and microkernels
// depend, and the set of this machine. No MLIR or LLVM here, because the runtime includes this
// file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace logitile {
/// Instruction sets for which code is generated. Each of them includes those before it, except the
/// last, which is for tests: it calls functions instead of the tile instructions of AmxBf16, and so
/// runs on processors with Avx512Bf16.
enum class CpuTier { Portable, Avx2, Avx512, Avx512Bf16, AmxBf16, AmxBf16Emulated };

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
  bool hasAmxTiles;          // multiplies tiles of bf16 into f32, by instructions or by functions

  /// f32 values of one packed panel.
  int64_t panelWidth() const { return lanes * panelVectors; }
};
const CpuTierInfo &getTierInfo(CpuTier tier);

/// The tier called 'name'; none if there is no such tier.
std::optional<CpuTier> parseTier(std::string_view name);
/// "portable, avx2, avx512, avx512_bf16, amx_bf16, amx_bf16_emulated".
std::string listTiers();
/// Whether a processor whose best tier is 'own' runs the code of 'tier'.
bool runs(CpuTier own, CpuTier tier);
/// The name of the target of a tier: "cpu:avx2".
std::string targetName(CpuTier tier);
/// The best tier of this machine's CPU. If the CPU has tile registers, the first call requests
/// permission from the operating system to use them.
CpuTier detectTier();
/// The tier to compile for on this machine: the best tier of its CPU, or the tier that
/// LOGITILE_CPU_TIER names. If the machine does not support that tier, the result is none and
/// 'error' says why.
std::optional<CpuTier> hostTier(std::string &error);
} // namespace logitile

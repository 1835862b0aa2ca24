// Tier.cpp - names of tiers and detection of the host's.
#include "compiler/Backends/CPU/Tier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>
using namespace logitile;

static constexpr CpuTierInfo kTiers[] = {
    {"portable", "x86-64", "", 4, 2, 4, false, false, false},
    {"avx2", "x86-64-v3", "", 8, 2, 6, true, false, false},
    {"avx512", "x86-64-v4", "", 16, 2, 14, true, false, false},
    {"avx512_bf16", "x86-64-v4", "+avx512bf16", 16, 2, 14, true, true, false},
    {"amx_bf16", "x86-64-v4", "+avx512bf16,+amx-tile,+amx-bf16", 16, 2, 14, true, true, true},
    {"amx_bf16_emulated", "x86-64-v4", "+avx512bf16", 16, 2, 14, true, true, true},
};

const CpuTierInfo &logitile::getTierInfo(CpuTier tier) { return kTiers[static_cast<int>(tier)]; }

std::optional<CpuTier> logitile::parseTier(std::string_view name) {
  for (const CpuTierInfo &info : kTiers)
    if (name == info.name)
      return static_cast<CpuTier>(&info - kTiers);
  return std::nullopt;
}

std::string logitile::listTiers() {
  return llvm::join(llvm::map_range(kTiers, [](const CpuTierInfo &info) { return info.name; }), ", ");
}

std::string logitile::targetName(CpuTier tier) { return "cpu:" + std::string(getTierInfo(tier).name); }

bool logitile::runs(CpuTier own, CpuTier tier) {
  auto needed = [](CpuTier tier) { return tier == CpuTier::AmxBf16Emulated ? CpuTier::Avx512Bf16 : tier; };
  return own == tier || needed(tier) <= needed(own);
}

/// Whether this process may use the registers of tiles. Without, the first instruction on them ends
/// it. Source: the Linux kernel, Documentation/arch/x86/xstate.rst; numbers in
/// arch/x86/include/uapi/asm/prctl.h.
static bool mayUseTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

static CpuTier askProcessor() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  if (!hasAll({"avx2", "fma", "f16c", "bmi2"}))
    return CpuTier::Portable;
  if (!hasAll({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}))
    return CpuTier::Avx2;
  if (!features.lookup("avx512bf16"))
    return CpuTier::Avx512;
  return hasAll({"amx-tile", "amx-bf16"}) && mayUseTiles() ? CpuTier::AmxBf16 : CpuTier::Avx512Bf16;
}

CpuTier logitile::detectTier() {
  static const CpuTier detected = askProcessor(); // which takes as long as a small call
  return detected;
}

std::optional<CpuTier> logitile::hostTier(std::string &error) {
  const CpuTier detected = detectTier();
  const char *forced = std::getenv("LOGITILE_CPU_TIER");
  if (!forced || !*forced)
    return detected;
  std::optional<CpuTier> tier = parseTier(forced);
  if (!tier) {
    error = "LOGITILE_CPU_TIER is '" + std::string(forced) + "'; expected one of " + listTiers();
    return std::nullopt;
  }
  if (!runs(detected, *tier)) {
    error = "LOGITILE_CPU_TIER asks for '" + std::string(forced) + "', but this CPU has '" +
            std::string(getTierInfo(detected).name) + "' at most";
    return std::nullopt;
  }
  return tier;
}

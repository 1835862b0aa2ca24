// Target.cpp - names of targets and detection of the host's CPU tier.
#include "compiler/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include <cstdlib>
using namespace logitile;

static constexpr CpuTierInfo kTiers[] = {
    {"portable", "x86-64", "", 4, 2, 4, false, false},
    {"avx2", "x86-64-v3", "", 8, 2, 6, true, false},
    {"avx512", "x86-64-v4", "", 16, 2, 14, true, false},
    {"avx512_bf16", "x86-64-v4", "+avx512bf16", 16, 2, 14, true, true},
};

const CpuTierInfo &logitile::getTierInfo(CpuTier tier) { return kTiers[static_cast<int>(tier)]; }

// CUDA programming guide, technical specifications by compute capability: shared memory of a block.
static constexpr GpuInfo kGpus[] = {{80, 163 * 1024}, {86, 99 * 1024}, {89, 99 * 1024}, {90, 227 * 1024}, {100, 227 * 1024}, {120, 99 * 1024}};

static const GpuInfo *findGpu(int sm) {
  const GpuInfo *found = llvm::find_if(kGpus, [&](const GpuInfo &info) { return info.sm == sm; });
  return found == std::end(kGpus) ? nullptr : found;
}
const GpuInfo &logitile::getGpuInfo(const Target &target) { return *findGpu(target.sm); }

std::string Target::knownGpus() {
  std::string names;
  for (const GpuInfo &info : kGpus)
    names += (names.empty() ? "sm_" : ", sm_") + std::to_string(info.sm);
  return names;
}

static std::optional<CpuTier> parseTier(llvm::StringRef name) {
  for (const CpuTierInfo &info : kTiers)
    if (name == llvm::StringRef(info.name))
      return static_cast<CpuTier>(&info - kTiers);
  return std::nullopt;
}

std::string Target::canonicalName() const {
  if (kind == DeviceKind::Cpu)
    return "cpu:" + std::string(getTierInfo(tier).name);
  return (kind == DeviceKind::Cuda ? "cuda:sm_" : "emu:sm_") + std::to_string(sm) + suffix;
}

std::optional<Target> Target::parse(std::string_view name) {
  auto [device, features] = llvm::StringRef(name).split(':');
  Target target;
  if (device == "cpu") {
    std::optional<CpuTier> tier = parseTier(features);
    if (!tier)
      return std::nullopt;
    target.tier = *tier;
    return target;
  }
  if (device != "cuda" && device != "emu")
    return std::nullopt;
  target.kind = device == "cuda" ? DeviceKind::Cuda : DeviceKind::Emulator;
  if (!features.consume_front("sm_") || features.consumeInteger(10, target.sm) || !findGpu(target.sm))
    return std::nullopt;
  if (!features.empty() && features != "a" && features != "f")
    return std::nullopt;
  target.suffix = features.str();
  return target;
}

static CpuTier detectTier() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  if (!hasAll({"avx2", "fma", "f16c", "bmi2"}))
    return CpuTier::Portable;
  if (!hasAll({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}))
    return CpuTier::Avx2;
  return features.lookup("avx512bf16") ? CpuTier::Avx512Bf16 : CpuTier::Avx512;
}

std::optional<Target> Target::host(std::string &error) {
  static const CpuTier detected = detectTier(); // asking a processor takes as long as a small call
  Target target;
  target.tier = detected;
  const char *forced = std::getenv("LOGITILE_CPU_TIER");
  if (!forced || !*forced)
    return target;
  std::optional<CpuTier> tier = parseTier(forced);
  if (!tier) {
    error = "LOGITILE_CPU_TIER is '" + std::string(forced) + "'; expected portable, avx2, avx512 or avx512_bf16";
    return std::nullopt;
  }
  if (*tier > target.tier) {
    error = "LOGITILE_CPU_TIER asks for '" + std::string(forced) + "', but this CPU has '" +
            std::string(getTierInfo(target.tier).name) + "' at most";
    return std::nullopt;
  }
  target.tier = *tier;
  return target;
}

// CpuPlatform.cpp - facts of the host CPU, and which code it can run.
#include "runtime/cpu/CpuPlatform.h"
#include "compiler/Backends/CPU/Tier.h"
#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/CpuModel.h"
#include "runtime/cpu/CpuRates.h"
#include <cstdlib>
using namespace logitile;

namespace {
/// Measured by the first who asks in a process, or before.
const std::optional<UnitRates> &knownRates() {
  static const std::optional<UnitRates> rates = hostRates();
  return rates;
}

/// Where a processor multiplies float32 faster than pairs of bfloat16, calls get code that widens
/// bfloat16 while it is packed, unless LOGITILE_CPU_TIER names the tier.
CpuTier preferredTier(CpuTier host) {
  const char *forced = std::getenv("LOGITILE_CPU_TIER");
  if (host != CpuTier::Avx512Bf16 || (forced && *forced))
    return host;
  return knownRates() && knownRates()->areFasterInFloat32() ? CpuTier::Avx512 : host;
}

class CpuPlatform : public Platform {
public:
  std::string_view prefix() const override { return "cpu"; }
  PlatformFacts facts() const override { return {"cpu", true, true}; }
  std::shared_ptr<Device> makeDevice(const std::shared_ptr<Workspace> &hostMemory) const override {
    return std::make_shared<CpuDevice>(hostMemory);
  }

  /// The processor runs the code of its own tier and of those before it.
  Status check(std::string_view features) const override {
    std::string error;
    std::optional<CpuTier> host = hostTier(error), wanted = parseTier(features);
    if (!host || !wanted)
      return Status(ErrorCode::Target, host ? "there is no CPU '" + std::string(features) + "'" : error);
    if (runs(*host, *wanted))
      return Status();
    return Status(ErrorCode::Target, "target '" + targetName(*wanted) + "' needs instructions that this machine's '" + targetName(*host) +
                                         "' lacks");
  }
  Result<std::string> findTarget(int) const override {
    std::string error;
    std::optional<CpuTier> host = hostTier(error);
    return host ? Result<std::string>(targetName(preferredTier(*host))) : Status(ErrorCode::Target, error);
  }
  /// Products were measured with the widest vectors of this processor; code for other vectors has
  /// rates of its backend. The table knows which product is faster, and no seconds.
  UnitRates rates(std::string_view features) const override {
    std::optional<CpuTier> tier = parseTier(features);
    if (!tier || *tier > detectTier() || !knownRates() || knownRates()->memory == 0)
      return {};
    UnitRates rates = *knownRates();
    if (getTierInfo(*tier).lanes != getTierInfo(detectTier()).lanes)
      rates.float32 = rates.bfloat16 = 0;
    if (getTierInfo(*tier).hasAmxTiles != getTierInfo(detectTier()).hasAmxTiles)
      rates.bfloat16 = 0;
    return rates;
  }
  Result<DeviceModel> describe(std::string_view features, int) const override { return DeviceModel{cpuModel(), std::string(features)}; }
};
} // namespace

std::unique_ptr<Platform> logitile::makeCpuPlatform() { return std::make_unique<CpuPlatform>(); }

// EmulatorDevice.h - GPU kernels of a plan run by the emulator, in memory of the host. Every access is checked.
#pragma once
#include "runtime/Device.h"

namespace logitile {
/// Launches whose kernels the emulator finds faults in fail with its report. LOGITILE_EMULATOR_SEED, read at each launch,
/// is the seed of the order in which threads run: 0 or nothing for threads in order and copies as late as is legal.
class EmulatorDevice : public Device {
public:
  /// Memory comes from 'host'.
  explicit EmulatorDevice(std::shared_ptr<Device> host) : host(std::move(host)) {}
  Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan) override;
  Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &stream) override { return host->takeMemory(bytes, stream); }
  int64_t guardBytes() const override { return 64 * 1024; } // more than a tile is wide

private:
  std::shared_ptr<Device> host;
};
} // namespace logitile

// EmulatorDevice.h - runs the GPU kernels of a plan in the emulator, in memory of the host. Every
// access is checked.
#pragma once
#include "runtime/device/Device.h"
#include "runtime/gpu/IndexReport.h"

namespace logitile {
/// The runtime's own kernels, and state that exists once per machine.
struct EmulatedMachine;

/// A launch fails, with the emulator's report, if the emulator finds faults in its kernel.
/// LOGITILE_EMULATOR_SEED, read at each launch, is the seed of the order in which threads run: 0 or
/// nothing for threads in order and copies as late as is legal.
class EmulatorDevice : public Device {
public:
  /// Memory of calls comes from 'memory'.
  explicit EmulatorDevice(std::shared_ptr<Workspace> memory);
  Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan, NativeStore store) override;
  Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &) override { return memory->take(bytes); }
  /// False although the memory is the host's: work on single elements is done by kernels, as on a
  /// GPU.
  bool isHost() const override { return false; }
  gpu::IndexReport *indexReport() override { return &report; }
  int64_t guardBytes() const override { return 64 * 1024; } // more than a tile is wide

private:
  const std::shared_ptr<Workspace> memory;
  std::shared_ptr<EmulatedMachine> machine;
  gpu::IndexFlag flag = {};
  gpu::IndexReport report{&flag};
};
} // namespace logitile

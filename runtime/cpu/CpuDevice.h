// CpuDevice.h - the host CPU as a device: objects linked into this process, tasks on a pool of
// threads.
#pragma once
#include "runtime/device/Device.h"
#include "runtime/cpu/ThreadPool.h"

namespace logitile {
class CpuDevice : public Device {
public:
  /// Memory of calls comes from 'memory'.
  explicit CpuDevice(std::shared_ptr<Workspace> memory) : memory(std::move(memory)) {}
  Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan, NativeStore store) override;
  Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &) override { return memory->take(bytes); }
  void prepareResult(char *data, int64_t bytes, int threads) override;
  bool isHost() const override { return true; }

private:
  ThreadPool pool;
  const std::shared_ptr<Workspace> memory;
};
} // namespace logitile

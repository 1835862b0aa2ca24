// CudaDevice.h - GPUs as devices: launches are queued on the streams of calls, and nothing waits for them.
#pragma once
#include "runtime/Device.h"
#include "runtime/cuda/Contexts.h"

namespace logitile {
/// All GPUs of the machine. Plans can be loaded where there is none; calls find out.
class CudaDevice : public Device {
public:
  Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan) override;
  Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &stream) override;
  bool hasHostMemory() const override { return false; }

  /// The driver, opened by the first call that needs it.
  Result<std::shared_ptr<cuda::Contexts>> open();

private:
  std::mutex mutex;
  std::shared_ptr<cuda::Contexts> contexts;
};

/// The name of the target of a GPU: "cuda:sm_80". An error where there is no driver or no such device.
Result<std::string> cudaTarget(int ordinal);
} // namespace logitile

// CudaDevice.h - GPUs as devices: launches are queued on the streams of calls, and nothing waits
// for them.
#pragma once
#include "runtime/device/Device.h"
#include "runtime/cuda/ModuleSet.h"
#include "runtime/gpu/IndexReport.h"
#include <set>

namespace logitile {
/// All GPUs of the machine. Plans can be loaded on a machine without GPUs; only calls fail there.
class CudaDevice : public Device {
public:
  Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan, NativeStore store) override;
  Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &stream) override;
  Status synchronise() override;
  bool isHost() const override { return false; }
  bool isHostOnly(const void *memory) const override;
  gpu::IndexReport *indexReport() override { return &report; }

  /// The driver, opened by the first call that needs it.
  Result<std::shared_ptr<cuda::Contexts>> open();
  /// The runtime's own kernels in a context, which must be current on device 'ordinal'.
  Result<const cuda::ContextModule *> ownKernels(const std::shared_ptr<cuda::Contexts> &contexts, const cuda::CurrentContext &context,
                                                 int ordinal, bool isCaptured);

private:
  mutable std::mutex mutex;
  std::shared_ptr<cuda::Contexts> contexts;
  std::unique_ptr<cuda::ModuleSet> own;
  std::set<int> used; // devices with calls
  gpu::IndexReport report;
};
} // namespace logitile

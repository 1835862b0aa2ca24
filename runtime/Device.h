// Device.h - what the runtime needs of a device: code brought in, kernels launched, memory for calls.
// Each kind of device has a folder of its own; memory is memory that the host can read.
#pragma once
#include "compiler/LaunchPlan.h"
#include "runtime/Workspace.h"

namespace logitile {
/// The code of one plan, ready to run. It goes away when destroyed.
class DeviceCode {
public:
  virtual ~DeviceCode() = default;

  /// Runs all tasks of a kernel and returns when they are done. 'arguments' are words as KernelPlan packs them; 'scratch'
  /// holds 'scratchStride' bytes for each of 'threads' threads.
  struct Launch {
    int64_t kernel;
    const int64_t *arguments;
    int64_t tasks;
    char *scratch;
    int64_t scratchStride;
    int threads;
  };
  virtual void launch(const Launch &launch) = 0;
};

class Device {
public:
  virtual ~Device() = default;
  virtual Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan) = 0;
  virtual Workspace &workspace() = 0;
};
} // namespace logitile

// Device.h - what the runtime needs of a device: code brought in, kernels launched, memory for calls.
// Each kind of device has a folder of its own; memory is memory that the host can read.
#pragma once
#include "compiler/LaunchPlan.h"
#include "runtime/Workspace.h"
#include <functional>

namespace logitile {
namespace gpu {
class IndexReport;
}

/// Memory that the kernels of one call may touch.
struct MemoryRange {
  std::string_view name;
  char *data;
  int64_t bytes;
  bool isDefined; // holds something before the first launch
};
using MemoryList = std::function<std::vector<MemoryRange>()>;

/// Launches of one phase of one call.
class DeviceCall {
public:
  virtual ~DeviceCall() = default;

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
  virtual Status launch(const Launch &launch) = 0;
  /// Runs one of the runtime's own kernels (gpu/CallKernels.h). 'parameters' is what it takes, by value.
  virtual Status launchOwn(const char *kernel, int64_t blocks, int64_t threads, const void *parameters) = 0;
};

/// The code of one plan, ready to run. It goes away when destroyed.
class DeviceCode {
public:
  virtual ~DeviceCode() = default;
  /// Begins a phase: an error where the machine has no such device. Devices that check accesses ask for the memory.
  virtual Result<std::unique_ptr<DeviceCall>> start(const MemoryList &memory) = 0;
};

class Device {
public:
  virtual ~Device() = default;
  virtual Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan) = 0;
  virtual Workspace &workspace() = 0;
  /// Waits for everything that has been launched.
  virtual Status synchronise() { return Status(); }
  /// Whether the host reads and writes the memory of calls itself.
  virtual bool isHost() const = 0;
  /// What kernels report wrong indices to; null where the host checks them.
  virtual gpu::IndexReport *indexReport() { return nullptr; }
  /// Bytes to leave free behind each buffer, so that an access outside of it meets no other one.
  virtual int64_t guardBytes() const { return 0; }
};
} // namespace logitile

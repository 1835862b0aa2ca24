// Device.h - the interface of a device for the runtime: loading code, launching kernels, memory for
// calls. Each kind of device has its own folder.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "runtime/device/KernelCounters.h"
#include "runtime/device/TensorMaps.h"
#include "runtime/device/Workspace.h"
#include "runtime/support/Interrupt.h"
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

/// Memory of the framework that calls: such as comes from its caching allocator.
struct FrameworkMemory {
  /// 0, and in 'owner' what 'release' takes; anything else where there is none left. Null where
  /// there is no framework.
  int (*allocate)(void *context, int64_t bytes, void **data, void **owner) = nullptr;
  void (*release)(void *owner) = nullptr; // from any thread, also after the call
  void *context = nullptr;                // for 'allocate', as long as the call lasts
};

/// Where the launches of a call are queued on a GPU. Devices whose calls end before they return
/// ignore it.
struct DeviceStream {
  int ordinal = 0;        // of the device
  void *handle = nullptr; // null: the default stream
  FrameworkMemory memory;
};

/// Launches of one phase of one call, made on the thread that started it.
class DeviceCall {
public:
  virtual ~DeviceCall() = default;

  /// Runs all tasks of a kernel: to their end, or where the device has streams, behind what is
  /// queued there. 'arguments' are words as KernelPlan packs them; 'scratch' holds 'scratchStride'
  /// bytes for each of 'threads' threads.
  struct Launch {
    int64_t kernel;
    const int64_t *arguments;
    int64_t tasks;
    char *scratch;
    int64_t scratchStride;
    int threads;
    Interrupt interrupt; // devices that the host waits for ask it
    std::span<const TensorMatrix> matrices = {}; // for each tensor map of the kernel
  };
  virtual Status launch(const Launch &launch) = 0;
  /// Runs one of the runtime's own kernels (gpu/CallKernels.h). 'parameters' is what it takes, by
  /// value.
  virtual Status launchOwn(const char *kernel, int64_t blocks, int64_t threads, const void *parameters) = 0;
  /// The same; waits and returns the milliseconds that it took.
  virtual Result<double> timedLaunch(const Launch &launch);
  /// Whether launches go into a graph instead of running: nothing can wait for them.
  virtual bool isCaptured() const { return false; }
  /// What the last launch did; null where the device does not count.
  virtual const KernelCounters *counters() const { return nullptr; }
};

/// The code of a plan as one kind of device runs it, made by its driver.
struct NativeCode {
  std::string maker; // which driver, for which devices: others have to make it again; "" for none
  std::string bytes;
};
/// Native code that outlives the process.
struct NativeStore {
  NativeCode known;                                                      // what was kept before
  std::function<void(const LaunchPlan &, const NativeCode &)> keep = {}; // null where nothing is kept
};

/// The code of one plan, ready to run. It goes away when destroyed.
class DeviceCode {
public:
  virtual ~DeviceCode() = default;
  /// Begins a phase: an error where the machine has no such device. Devices that check accesses ask
  /// for the memory.
  virtual Result<std::unique_ptr<DeviceCall>> start(const MemoryList &memory, const DeviceStream &stream) = 0;
};

/// Of the arguments of a kernel, as GPUs take them; those of tensor maps come behind them.
int64_t wordCount(const KernelPlan &kernel);
/// An error where a kernel has more tasks than a GPU takes blocks.
Status checkBlocks(int64_t tasks);

class Device {
public:
  virtual ~Device() = default;
  /// 'plan' outlives its code. Devices that have to make native code first take it from 'store'.
  virtual Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan, NativeStore store) = 0;
  /// Workspace of a call. The device must outlive it.
  virtual Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &stream) = 0;
  /// 'data' will be written by a call, all of it: devices whose memory is slow to come at first get
  /// it ready.
  virtual void prepareResult(char * /*data*/, int64_t /*bytes*/, int /*threads*/) {}
  /// Waits for everything that has been launched.
  virtual Status synchronise() { return Status(); }
  /// Whether the host itself does the work on single elements of a call.
  virtual bool isHost() const = 0;
  /// Whether kernels cannot read this memory, because it is the host's alone. Then the host reads a
  /// number that lies there.
  virtual bool isHostOnly(const void *) const { return false; }
  /// What kernels report wrong indices to; null where the host checks them.
  virtual gpu::IndexReport *indexReport() { return nullptr; }
  /// Bytes to leave free behind each buffer, so that an access outside of it meets no other one.
  virtual int64_t guardBytes() const { return 0; }
};
} // namespace logitile

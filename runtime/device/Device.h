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

/// How to allocate memory of the calling framework, such as from its caching allocator.
struct FrameworkMemory {
  /// Returns 0 on success, and sets 'owner' to the argument of 'release'. Returns another number if
  /// there is not enough memory. Null if no framework calls.
  int (*allocate)(void *context, int64_t bytes, void **data, void **owner) = nullptr;
  void (*release)(void *owner) = nullptr; // may be called from any thread, and after the call
  void *context = nullptr;                // argument of 'allocate', valid during the call
};

/// Where the launches of a call are queued on a GPU. Devices that finish calls before they return
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

  /// Runs all tasks of a kernel and waits for them. A device with streams does not wait: it queues
  /// the kernel on its stream. 'arguments' are words as KernelPlan packs them; 'scratch' holds
  /// 'scratchStride' bytes for each of 'threads' threads.
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
  /// Runs one of the runtime's own kernels (gpu/CallKernels.h). 'parameters' points to the
  /// structure that the kernel gets by value.
  virtual Status launchOwn(const char *kernel, int64_t blocks, int64_t threads, const void *parameters) = 0;
  /// Runs a kernel, waits for it, and returns the milliseconds that it took.
  virtual Result<double> timedLaunch(const Launch &launch);
  /// Whether launches go into a graph instead of running: nothing can wait for them.
  virtual bool isCaptured() const { return false; }
  /// What the last launch did; null where the device does not count.
  virtual const KernelCounters *counters() const { return nullptr; }
};

/// The code of a plan as one kind of device runs it, made by its driver.
struct NativeCode {
  std::string maker; // the driver that made it, and the devices that it is for; others cannot use it; "": no code
  std::string bytes;
};
/// Native code that outlives the process.
struct NativeStore {
  NativeCode known;                                                      // code that was stored before
  std::function<void(const LaunchPlan &, const NativeCode &)> keep = {}; // stores code; null if nothing is stored
};

/// The code of one plan, ready to run. It goes away when destroyed.
class DeviceCode {
public:
  virtual ~DeviceCode() = default;
  /// Begins a phase. An error if the machine has no such device. Only devices that check accesses
  /// call 'memory'.
  virtual Result<std::unique_ptr<DeviceCall>> start(const MemoryList &memory, const DeviceStream &stream) = 0;
};

/// The number of words that a GPU kernel takes for its arguments. The words of tensor maps come
/// after these and are not counted.
int64_t wordCount(const KernelPlan &kernel);
/// An error if a kernel has more tasks than a GPU allows blocks.
Status checkBlocks(int64_t tasks);

class Device {
public:
  virtual ~Device() = default;
  /// 'plan' outlives its code. Devices that have to make native code first take it from 'store'.
  virtual Result<std::unique_ptr<DeviceCode>> load(const LaunchPlan &plan, NativeStore store) = 0;
  /// Workspace of a call. The device must outlive it.
  virtual Result<WorkspaceBlock> takeMemory(int64_t bytes, const DeviceStream &stream) = 0;
  /// Announces that a call will write all bytes of 'data'. A device may prepare the memory if the
  /// first write to new memory is slow.
  virtual void prepareResult(char * /*data*/, int64_t /*bytes*/, int /*threads*/) {}
  /// Waits for everything that has been launched.
  virtual Status synchronise() { return Status(); }
  /// Whether the host itself does the work on single elements of a call.
  virtual bool isHost() const = 0;
  /// Whether only the host can read this memory. Then the host reads numbers in it, instead of
  /// kernels.
  virtual bool isHostOnly(const void *) const { return false; }
  /// The report that collects wrong indices from kernels; null if the host checks indices.
  virtual gpu::IndexReport *indexReport() { return nullptr; }
  /// Bytes that are left free after each buffer, so that an access past its end does not reach
  /// another buffer.
  virtual int64_t guardBytes() const { return 0; }
};
} // namespace logitile

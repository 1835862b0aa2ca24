// Contexts.h - the driver context in which a call runs: the caller's context if it belongs to the
// device, and otherwise the primary context.
#pragma once
#include "runtime/cuda/Driver.h"
#include "runtime/gpu/CallKernels.h"
#include <atomic>
#include <map>
#include <mutex>

namespace logitile::cuda {
/// The driver, and the primary contexts of all devices that calls have used. They are released when
/// this object is destroyed.
class Contexts {
public:
  explicit Contexts(std::shared_ptr<const Driver> driver) : library(std::move(driver)) {}
  Contexts(const Contexts &) = delete;
  ~Contexts();

  const Driver &driver() const { return *library; }
  Result<Context> primary(DeviceHandle device);
  /// Memory of the host to which kernels of all devices report wrong indices. The first call
  /// allocates and clears it, through 'device'.
  Result<gpu::IndexFlag *> indexFlag(DeviceHandle device);
  /// From now on, nothing is released: CUDA graphs use it, and nothing tells when they are
  /// destroyed.
  void keepForGraphs() { isKept = true; }

private:
  const std::shared_ptr<const Driver> library;
  std::mutex mutex;
  std::map<DeviceHandle, Context> retained;
  std::atomic<bool> isKept{false};
  gpu::IndexFlag *flag = nullptr;
  DeviceHandle flagDevice = 0;
};

/// While this object exists, this thread may load and unload modules although another thread
/// captures a stream: loading is not captured.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver) : driver(driver), isRelaxed(exchange() == Code::Success) {}
  RelaxedCapture(const RelaxedCapture &) = delete;
  ~RelaxedCapture() {
    if (isRelaxed)
      exchange();
  }

private:
  Code exchange() { return driver.threadExchangeStreamCaptureMode.address(&mode); }

  const Driver &driver;
  CaptureMode mode = CaptureMode::Relaxed; // then that of the thread before
  const bool isRelaxed;
};

/// Makes a context current on this thread while this object exists.
class CurrentContext {
public:
  /// Uses the thread's current context if it belongs to device 'ordinal', as a framework's context
  /// does. Otherwise uses the device's primary context.
  static Result<CurrentContext> enter(Contexts &contexts, int ordinal);
  /// Uses a context that was entered before. An error if its owner has destroyed it.
  static Result<CurrentContext> enter(const Driver &driver, DeviceHandle device, Context context);
  CurrentContext(CurrentContext &&other) noexcept
      : driver(other.driver), device(other.device), context(other.context), isPushed(std::exchange(other.isPushed, false)) {}
  CurrentContext &operator=(CurrentContext &&) = delete;
  ~CurrentContext();

  Context handle() const { return context; }
  DeviceHandle deviceHandle() const { return device; }

private:
  CurrentContext(const Driver &driver, DeviceHandle device, Context context) : driver(&driver), device(device), context(context) {}

  const Driver *driver;
  DeviceHandle device;
  Context context;
  bool isPushed = false;
};
} // namespace logitile::cuda

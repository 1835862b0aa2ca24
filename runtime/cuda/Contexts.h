// Contexts.h - the driver context in which a call runs: the caller's context if it belongs to the
// device, and otherwise the primary context.
#pragma once
#include "runtime/cuda/Driver.h"
#include "runtime/gpu/CallKernels.h"
#include <atomic>
#include <map>
#include <mutex>

namespace logitile::cuda {
/// The driver, and the primary contexts of devices that calls needed, kept until this is destroyed.
class Contexts {
public:
  explicit Contexts(std::shared_ptr<const Driver> driver) : library(std::move(driver)) {}
  Contexts(const Contexts &) = delete;
  ~Contexts();

  const Driver &driver() const { return *library; }
  Result<Context> primary(DeviceHandle device);
  /// What kernels of all devices write about wrong indices, cleared, in memory of the host; made by
  /// way of one of the devices.
  Result<gpu::IndexFlag *> indexFlag(DeviceHandle device);
  /// From now on nothing is given back: CUDA graphs use it, which nobody knows the end of.
  void keepForGraphs() { isKept = true; }

private:
  const std::shared_ptr<const Driver> library;
  std::mutex mutex;
  std::map<DeviceHandle, Context> retained;
  std::atomic<bool> isKept{false};
  gpu::IndexFlag *flag = nullptr;
  DeviceHandle flagDevice = 0;
};

/// While this lives, this thread may load and unload although another thread captures a stream:
/// none of that is captured.
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

/// A context that is current on this thread while this lives.
class CurrentContext {
public:
  /// The current context if it is one of device 'ordinal', as that of a framework is, else its
  /// primary context.
  static Result<CurrentContext> enter(Contexts &contexts, int ordinal);
  /// A context that was entered before. An error where its owner has destroyed it.
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

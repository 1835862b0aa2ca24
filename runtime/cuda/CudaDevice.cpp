// CudaDevice.cpp - the way of a plan's code to the contexts of its calls, and launches.
#include "runtime/cuda/CudaDevice.h"
#include "compiler/Target.h"
#include "runtime/cuda/ContextModule.h"
#include "runtime/cuda/StreamMemory.h"
#include <map>
using namespace logitile;
using namespace logitile::cuda;

namespace {
/// Two events around a launch.
class Timer {
public:
  explicit Timer(const Driver &driver) : driver(driver) {}
  Timer(const Timer &) = delete;
  ~Timer() {
    for (Event event : {first, last})
      if (event)
        driver.eventDestroy.address(event);
  }
  Status start(Stream stream) {
    for (Event *event : {&first, &last})
      if (Status status = driver.call(driver.eventCreate, event, 0); !status.isOk())
        return status;
    return driver.call(driver.eventRecord, first, stream);
  }
  /// Waits for the launch.
  Result<double> stop(Stream stream) {
    float milliseconds = 0;
    Status status = driver.call(driver.eventRecord, last, stream);
    if (status.isOk())
      status = driver.call(driver.eventSynchronize, last);
    if (status.isOk())
      status = driver.call(driver.eventElapsedTime, &milliseconds, first, last);
    return status.isOk() ? Result<double>(milliseconds) : Result<double>(status);
  }

private:
  const Driver &driver;
  Event first = nullptr, last = nullptr;
};

/// The launches of one phase, in a context that stays current meanwhile.
class CudaCall : public DeviceCall {
public:
  CudaCall(const Driver &driver, CurrentContext context, const ContextModule &module, const std::vector<KernelPlan> &kernels, Stream stream,
           bool isCaptured)
      : driver(driver), context(std::move(context)), module(module), kernels(kernels), stream(stream), isCaptured(isCaptured) {}

  Status launch(const Launch &launch) override {
    if (launch.tasks == 0)
      return Status();
    if (Status status = checkBlocks(launch.tasks); !status.isOk())
      return status;
    const KernelPlan &kernel = kernels[launch.kernel];
    parameters.clear();
    for (int64_t word = 0, words = wordCount(kernel); word < words; ++word)
      parameters.push_back(const_cast<int64_t *>(launch.arguments + word)); // the driver copies what they hold
    Code code = driver.launchKernel.address(module.function(launch.kernel), static_cast<unsigned>(launch.tasks), 1, 1,
                                            static_cast<unsigned>(kernel.threads), 1, 1, static_cast<unsigned>(kernel.sharedBytes), stream,
                                            parameters.data(), nullptr);
    if (code == Code::Success)
      return Status();
    return driver.failure(driver.launchKernel.symbol, code,
                          "kernel '" + kernel.name + "' was launched; an error of a kernel before it shows here too");
  }

  Result<double> timedLaunch(const Launch &launched) override {
    if (isCaptured)
      return Status(ErrorCode::Target, "kernels cannot be timed while their stream is captured into a CUDA graph; make the call "
                                       "outside of the capture, or without timing");
    Timer timer(driver);
    if (Status status = timer.start(stream); !status.isOk())
      return status;
    if (Status status = launch(launched); !status.isOk())
      return status;
    return timer.stop(stream);
  }

private:
  const Driver &driver;
  const CurrentContext context;
  const ContextModule &module;
  const std::vector<KernelPlan> &kernels;
  const Stream stream;
  const bool isCaptured;
  std::vector<void *> parameters; // of the current launch
};

/// The code of a plan, brought to each context that calls come from.
class CudaCode : public DeviceCode {
public:
  CudaCode(CudaDevice &device, const LaunchPlan &plan) : device(device), plan(partOf(plan)) {}
  Result<std::unique_ptr<DeviceCall>> start(const MemoryList &, const DeviceStream &stream) override;

private:
  /// What loading needs of a plan.
  static LaunchPlan partOf(const LaunchPlan &plan) {
    LaunchPlan part;
    part.name = plan.name;
    part.target = plan.target;
    part.kernels = plan.kernels;
    part.code = plan.code;
    return part;
  }
  Result<ContextModule *> moduleOf(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context, bool isCaptured);

  CudaDevice &device;
  const LaunchPlan plan;
  std::mutex mutex;
  std::map<Context, std::unique_ptr<ContextModule>> modules;
};
} // namespace

// ---- code -------------------------------------------------------------------------------------------------------------------

Result<ContextModule *> CudaCode::moduleOf(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context, bool isCaptured) {
  std::lock_guard lock(mutex);
  std::unique_ptr<ContextModule> &module = modules[context.handle()];
  if (!module && isCaptured)
    return Status(ErrorCode::Target, "the stream is captured into a CUDA graph, but the code of '" + plan.name +
                                         "' is not on the device yet; make the same call once before the capture");
  if (!module) {
    Result<std::unique_ptr<ContextModule>> loaded = ContextModule::load(contexts, context, plan);
    if (!loaded.isOk())
      return loaded.status();
    module = std::move(*loaded);
  }
  if (isCaptured)
    module->keepLoaded();
  return module.get();
}

Result<std::unique_ptr<DeviceCall>> CudaCode::start(const MemoryList &, const DeviceStream &stream) {
  Result<std::shared_ptr<Contexts>> contexts = device.open();
  if (!contexts.isOk())
    return contexts.status();
  const Driver &driver = (*contexts)->driver();
  Result<CurrentContext> context = CurrentContext::enter(**contexts, stream.ordinal);
  if (!context.isOk())
    return context.status();
  Result<bool> captured = isCapturing(driver, stream);
  if (!captured.isOk())
    return captured.status();
  Result<ContextModule *> module = moduleOf(*contexts, *context, *captured);
  if (!module.isOk())
    return module.status();
  return std::unique_ptr<DeviceCall>(
      std::make_unique<CudaCall>(driver, std::move(*context), **module, plan.kernels, streamOf(stream), *captured));
}

// ---- the device -------------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<Contexts>> CudaDevice::open() {
  std::lock_guard lock(mutex);
  if (contexts)
    return contexts;
  Result<std::shared_ptr<const Driver>> driver = Driver::open();
  if (!driver.isOk())
    return driver.status();
  contexts = std::make_shared<Contexts>(std::move(*driver));
  return contexts;
}

Result<std::unique_ptr<DeviceCode>> CudaDevice::load(const LaunchPlan &plan) {
  return std::unique_ptr<DeviceCode>(std::make_unique<CudaCode>(*this, plan));
}

Result<WorkspaceBlock> CudaDevice::takeMemory(int64_t bytes, const DeviceStream &stream) {
  Result<std::shared_ptr<Contexts>> opened = open();
  return opened.isOk() ? takeStreamMemory(*opened, bytes, stream) : opened.status();
}

/// The last one known that is not later than the device, whose driver brings its code to the device's own instructions.
static std::optional<Target> targetOf(int major, int minor) {
  Target target;
  target.kind = DeviceKind::Cuda;
  for (target.sm = 10 * major + minor; target.sm >= 80; --target.sm)
    if (getGpuInfo(target).sm == target.sm)
      return target;
  return std::nullopt;
}

Result<std::string> logitile::cudaTarget(int ordinal) {
  Result<std::shared_ptr<const Driver>> driver = Driver::open();
  if (!driver.isOk())
    return driver.status();
  Result<DeviceHandle> device = (*driver)->device(ordinal);
  if (!device.isOk())
    return device.status();
  Result<int> major = (*driver)->attribute(DeviceAttribute::CapabilityMajor, *device);
  Result<int> minor = (*driver)->attribute(DeviceAttribute::CapabilityMinor, *device);
  if (!major.isOk() || !minor.isOk())
    return major.isOk() ? minor.status() : major.status();
  if (std::optional<Target> target = targetOf(*major, *minor))
    return target->canonicalName();
  return Status(ErrorCode::Target, (*driver)->nameOf(*device) + " has compute capability " + std::to_string(*major) + "." +
                                       std::to_string(*minor) + ", but kernels need 8.0 or later; use backend='cpu'");
}

// CudaDevice.cpp - the way of a plan's code to the contexts of its calls, and launches.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/StreamMemory.h"
#include "runtime/gpu/OwnKernels.h"
#include <algorithm>
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

Status encodeTensorMap(const Driver &driver, const TensorMatrix &matrix, EncodedTensorMap &map) {
  if (!driver.tensorMapEncodeTiled.address)
    return Status(ErrorCode::Target, "the CUDA driver has no function cuTensorMapEncodeTiled; install a driver for CUDA 12.0 or later, or "
                                     "use backend='cuda:sm_90'");
  int64_t line = matrix.boxColumns * elementBytes(matrix.element);
  TensorSwizzle swizzle = line == 128 ? TensorSwizzle::Bytes128 : line == 64 ? TensorSwizzle::Bytes64 : TensorSwizzle::Bytes32;
  const uint64_t sizes[] = {static_cast<uint64_t>(matrix.columns), static_cast<uint64_t>(matrix.rows)};
  const uint64_t pitch = matrix.pitch();
  const uint32_t box[] = {static_cast<uint32_t>(matrix.boxColumns), static_cast<uint32_t>(matrix.boxRows)}, steps[] = {1, 1};
  return driver.call(driver.tensorMapEncodeTiled, &map, matrix.element == ElementType::F16 ? TensorType::F16 : TensorType::BF16, 2u,
                     matrix.address, sizes, &pitch, box, steps, TensorInterleave::None, swizzle, TensorPromotion::Bytes128,
                     TensorFill::Zeros);
}

/// The launches of one phase, in a context that stays current meanwhile.
class CudaCall : public DeviceCall {
public:
  CudaCall(const Driver &driver, CurrentContext context, const ContextModule &module, const ContextModule &own,
           const std::vector<KernelPlan> &kernels, Stream stream, bool captured)
      : driver(driver), context(std::move(context)), module(module), own(own), kernels(kernels), stream(stream), captured(captured) {}

  Status launch(const Launch &launch) override {
    if (launch.tasks == 0)
      return Status();
    if (Status status = checkBlocks(launch.tasks); !status.isOk())
      return status;
    const KernelPlan &kernel = kernels[launch.kernel];
    auto encode = [&](const TensorMatrix &matrix, EncodedTensorMap &map) { return encodeTensorMap(driver, matrix, map); };
    if (Status status = maps.encode(launch.matrices, encode); !status.isOk())
      return status;
    parameters.clear();
    for (int64_t word = 0, words = wordCount(kernel); word < words; ++word)
      parameters.push_back(launch.arguments + word);
    maps.addTo(parameters);
    auto **places = const_cast<void **>(parameters.data()); // the driver copies what they hold
    return queue(kernel.name, module.function(launch.kernel), launch.tasks, kernel.threads, kernel.sharedBytes, places);
  }

  Status launchOwn(const char *kernel, int64_t blocks, int64_t threads, const void *what) override {
    auto *found = std::ranges::find(gpu::kOwnKernels, std::string_view(kernel));
    void *parameter = const_cast<void *>(what); // one, which the driver copies
    return queue(kernel, own.function(found - std::begin(gpu::kOwnKernels)), blocks, threads, 0, &parameter);
  }

  bool isCaptured() const override { return captured; }

  Result<double> timedLaunch(const Launch &launched) override {
    if (captured)
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
  Status queue(const std::string &kernel, Function function, int64_t blocks, int64_t threads, int64_t sharedBytes, void **words) {
    Code code = driver.launchKernel.address(function, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1,
                                            static_cast<unsigned>(sharedBytes), stream, words, nullptr);
    if (code == Code::Success)
      return Status();
    return driver.failure(driver.launchKernel.symbol, code,
                          "kernel '" + kernel + "' was launched; an error of a kernel before it shows here too");
  }

  const Driver &driver;
  const CurrentContext context;
  const ContextModule &module, &own;
  const std::vector<KernelPlan> &kernels;
  const Stream stream;
  const bool captured;
  TensorMapArguments maps; // of the current launch
  std::vector<const void *> parameters;
};

/// The code of a plan, brought to each context that calls come from.
class CudaCode : public DeviceCode {
public:
  CudaCode(CudaDevice &device, const LaunchPlan &plan, NativeStore store) : device(device), modules(plan, std::move(store)) {}
  Result<std::unique_ptr<DeviceCall>> start(const MemoryList &, const DeviceStream &stream) override;

private:
  CudaDevice &device;
  ModuleSet modules;
};

/// The runtime's own kernels as a plan: all have blocks of the same size.
const LaunchPlan &ownPlan() {
  static const LaunchPlan plan = [] {
    LaunchPlan made;
    made.name = "the runtime's own kernels";
    made.target = "cuda:sm_80";
    made.code = gpu::ownKernelsPtx();
    for (std::string_view name : gpu::kOwnKernels) {
      made.kernels.emplace_back().name = name;
      made.kernels.back().threads = gpu::kThreads;
    }
    return made;
  }();
  return plan;
}
} // namespace

// ---- code ---------------------------------------------------------------------------------------

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
  Result<ContextModule *> module = modules.in(*contexts, *context, *captured);
  if (!module.isOk())
    return module.status();
  Result<const ContextModule *> own = device.ownKernels(*contexts, *context, stream.ordinal, *captured);
  if (!own.isOk())
    return own.status();
  return std::unique_ptr<DeviceCall>(
      std::make_unique<CudaCall>(driver, std::move(*context), **module, **own, modules.kernels(), streamOf(stream), *captured));
}

// ---- the device ---------------------------------------------------------------------------------

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

Result<const ContextModule *> CudaDevice::ownKernels(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context, int ordinal,
                                                     bool isCaptured) {
  std::lock_guard lock(mutex);
  if (!own)
    own = std::make_unique<ModuleSet>(ownPlan(), NativeStore());
  Result<ContextModule *> module = own->in(contexts, context, isCaptured);
  if (!module.isOk())
    return module.status();
  if (!report.memory()) {
    Result<gpu::IndexFlag *> flag = contexts->indexFlag(context.deviceHandle());
    if (!flag.isOk())
      return flag.status();
    report.setMemory(*flag);
  }
  used.insert(ordinal);
  return *module;
}

Status CudaDevice::synchronise() {
  std::lock_guard lock(mutex);
  for (int ordinal : used) {
    Result<CurrentContext> context = CurrentContext::enter(*contexts, ordinal);
    Status status = context.isOk() ? contexts->driver().call(contexts->driver().ctxSynchronize) : context.status();
    if (!status.isOk())
      return status;
  }
  return Status();
}

bool CudaDevice::isHostOnly(const void *memory) const {
  std::lock_guard lock(mutex);
  const Driver &driver = contexts->driver();
  MemoryType type = MemoryType::Host;
  Code code = driver.pointerGetAttribute.address(&type, PointerAttribute::MemoryType, reinterpret_cast<DevicePointer>(memory));
  return code != Code::Success || type == MemoryType::Host; // the driver knows nothing of most memory of the host
}

Result<std::unique_ptr<DeviceCode>> CudaDevice::load(const LaunchPlan &plan, NativeStore store) {
  return std::unique_ptr<DeviceCode>(std::make_unique<CudaCode>(*this, plan, std::move(store)));
}

Result<WorkspaceBlock> CudaDevice::takeMemory(int64_t bytes, const DeviceStream &stream) {
  Result<std::shared_ptr<Contexts>> opened = open();
  return opened.isOk() ? takeStreamMemory(*opened, bytes, stream) : opened.status();
}

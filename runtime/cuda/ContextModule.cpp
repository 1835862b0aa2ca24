// ContextModule.cpp - loads native code and looks up its kernels.
#include "runtime/cuda/ContextModule.h"
using namespace logitile;
using namespace logitile::cuda;

Result<std::unique_ptr<ContextModule>> ContextModule::load(std::shared_ptr<Contexts> contexts, const CurrentContext &context,
                                                           const LaunchPlan &plan, const std::string &native) {
  std::unique_ptr<ContextModule> loaded(new ContextModule(std::move(contexts), context));
  if (Status status = loaded->loadCode(plan, native); !status.isOk())
    return status;
  for (const KernelPlan &kernel : plan.kernels)
    if (Status status = loaded->findFunction(plan, kernel); !status.isOk())
      return status;
  return loaded;
}

Status ContextModule::loadCode(const LaunchPlan &plan, const std::string &native) {
  const Driver &driver = contexts->driver();
  Code code = driver.moduleLoadDataEx.address(&module, native.data(), 0, nullptr, nullptr);
  if (code == Code::Success)
    return Status();
  module = nullptr;
  return driver.failure(driver.moduleLoadDataEx.symbol, code,
                        "the code of '" + plan.name + "' for " + plan.target + " does not load on " + driver.nameOf(device));
}

Status ContextModule::findFunction(const LaunchPlan &plan, const KernelPlan &kernel) {
  const Driver &driver = contexts->driver();
  Function function = nullptr;
  Code code = driver.moduleGetFunction.address(&function, module, kernel.function().c_str());
  if (code != Code::Success)
    return driver.failure(driver.moduleGetFunction.symbol, code, "kernel '" + kernel.function() + "' of '" + plan.name + "' is looked for");
  if (Status status = checkBlock(kernel, function); !status.isOk())
    return status;
  if (Status status = allowSharedBytes(kernel, function); !status.isOk())
    return status;
  functions.push_back(function);
  return Status();
}

Status ContextModule::checkBlock(const KernelPlan &kernel, Function function) const {
  const Driver &driver = contexts->driver();
  Result<int> ofDevice = driver.attribute(DeviceAttribute::MaxThreadsPerBlock, device);
  if (!ofDevice.isOk())
    return ofDevice.status();
  int ofKernel = 0; // fewer where it needs many registers
  if (Status status = driver.call(driver.funcGetAttribute, &ofKernel, FunctionAttribute::MaxThreadsPerBlock, function); !status.isOk())
    return status;
  if (kernel.threads >= 1 && kernel.threads <= std::min(*ofDevice, ofKernel))
    return Status();
  return Status(ErrorCode::Target, "kernel '" + kernel.name + "' is made for blocks of " + std::to_string(kernel.threads) +
                                       " threads, but " + driver.nameOf(device) + " runs 1 to " +
                                       std::to_string(std::min(*ofDevice, ofKernel)) + " of its threads in a block");
}

/// Beyond what every device has, a kernel must be allowed to have its dynamic shared memory.
Status ContextModule::allowSharedBytes(const KernelPlan &kernel, Function function) const {
  const Driver &driver = contexts->driver();
  Result<int> most = driver.attribute(DeviceAttribute::MaxSharedBytesPerBlockOptin, device);
  Result<int> usual = driver.attribute(DeviceAttribute::MaxSharedBytesPerBlock, device);
  if (!most.isOk() || !usual.isOk())
    return most.isOk() ? usual.status() : most.status();
  int fixed = 0;
  if (Status status = driver.call(driver.funcGetAttribute, &fixed, FunctionAttribute::SharedBytes, function); !status.isOk())
    return status;
  if (kernel.sharedBytes < 0 || kernel.sharedBytes + fixed > *most)
    return Status(ErrorCode::Target, "kernel '" + kernel.name + "' needs " + std::to_string(kernel.sharedBytes + fixed) +
                                         " bytes of shared memory in a block, but " + driver.nameOf(device) + " has " +
                                         std::to_string(*most) + "; compile for that device (backend='auto')");
  if (kernel.sharedBytes + fixed <= *usual)
    return Status();
  return driver.call(driver.funcSetAttribute, function, FunctionAttribute::MaxDynamicSharedBytes, static_cast<int>(kernel.sharedBytes));
}

/// Nobody can be told of an error here. The code went with a context that is destroyed, and with a
/// driver that is shut down.
ContextModule::~ContextModule() {
  const Driver &driver = contexts->driver();
  if (!module || isKept || driver.isForked())
    return;
  RelaxedCapture relaxed(driver);
  Result<CurrentContext> entered = CurrentContext::enter(driver, device, context);
  if (entered.isOk())
    driver.moduleUnload.address(module);
}

// Contexts.cpp - retains primary contexts and keeps the stack of current ones balanced.
#include "runtime/cuda/Contexts.h"
#include <new>
using namespace logitile;
using namespace logitile::cuda;

/// Nobody can be told of an error here; one at the end of a process says that the driver is gone
/// already.
Contexts::~Contexts() {
  if (library->isForked() || isKept)
    return;
  RelaxedCapture relaxed(*library);
  if (flag)
    if (Result<CurrentContext> context = CurrentContext::enter(*library, flagDevice, retained[flagDevice]); context.isOk())
      library->memFreeHost.address(flag);
  for (const auto &[device, context] : retained)
    library->devicePrimaryCtxRelease.address(device);
}

Result<Context> Contexts::primary(DeviceHandle device) {
  std::lock_guard lock(mutex);
  auto known = retained.find(device);
  if (known != retained.end())
    return known->second;
  Context context = nullptr;
  if (Status status = library->call(library->devicePrimaryCtxRetain, &context, device); !status.isOk())
    return status;
  retained[device] = context;
  return context;
}

Result<gpu::IndexFlag *> Contexts::indexFlag(DeviceHandle device) {
  Result<Context> context = primary(device);
  if (!context.isOk())
    return context.status();
  std::lock_guard lock(mutex);
  if (flag)
    return flag;
  Result<CurrentContext> entered = CurrentContext::enter(*library, device, *context);
  if (!entered.isOk())
    return entered.status();
  RelaxedCapture relaxed(*library);
  void *memory = nullptr;
  unsigned kind = static_cast<unsigned>(HostMemory::Portable) | static_cast<unsigned>(HostMemory::Mapped);
  if (Status status = library->call(library->memHostAlloc, &memory, sizeof(gpu::IndexFlag), kind); !status.isOk())
    return status;
  flag = new (memory) gpu::IndexFlag();
  flagDevice = device;
  return flag;
}

Result<CurrentContext> CurrentContext::enter(Contexts &contexts, int ordinal) {
  const Driver &driver = contexts.driver();
  Result<DeviceHandle> device = driver.device(ordinal);
  if (!device.isOk())
    return device.status();
  Context current = nullptr;
  if (Status status = driver.call(driver.ctxGetCurrent, &current); !status.isOk())
    return status;
  DeviceHandle its = 0;
  if (current)
    if (Status status = driver.call(driver.ctxGetDevice, &its); !status.isOk())
      return status;
  if (current && its == *device)
    return CurrentContext(driver, *device, current);
  Result<Context> primary = contexts.primary(*device);
  if (!primary.isOk())
    return primary.status();
  return enter(driver, *device, *primary);
}

Result<CurrentContext> CurrentContext::enter(const Driver &driver, DeviceHandle device, Context context) {
  CurrentContext entered(driver, device, context);
  if (Status status = driver.call(driver.ctxPushCurrent, context); !status.isOk())
    return status;
  entered.isPushed = true;
  return entered;
}

CurrentContext::~CurrentContext() {
  Context popped = nullptr;
  if (isPushed)
    driver->ctxPopCurrent.address(&popped);
}

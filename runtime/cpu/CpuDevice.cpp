// CpuDevice.cpp - kernels of compiled code and how their tasks reach threads.
#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/ObjectLoader.h"
#include <vector>
using namespace logitile;

namespace {
class CpuCall : public DeviceCall {
public:
  CpuCall(const std::vector<CpuKernel> &kernels, ThreadPool &pool) : kernels(kernels), pool(pool) {}

  Status launch(const Launch &launch) override {
    CpuKernel kernel = kernels[launch.kernel];
    pool.run(launch.tasks, launch.threads,
             [&](int64_t task, int thread) { kernel(launch.arguments, task, launch.scratch + thread * launch.scratchStride); });
    return Status();
  }
  Status launchOwn(const char *kernel, int64_t, int64_t, const void *) override {
    return Status(ErrorCode::Internal, "kernel '" + std::string(kernel) + "' is for GPUs");
  }

private:
  const std::vector<CpuKernel> &kernels;
  ThreadPool &pool;
};

class CpuCode : public DeviceCode {
public:
  CpuCode(std::unique_ptr<ObjectLoader> object, std::vector<CpuKernel> kernels, ThreadPool &pool)
      : object(std::move(object)), kernels(std::move(kernels)), pool(pool) {}

  Result<std::unique_ptr<DeviceCall>> start(const MemoryList &, const DeviceStream &) override {
    return std::unique_ptr<DeviceCall>(std::make_unique<CpuCall>(kernels, pool));
  }

private:
  std::unique_ptr<ObjectLoader> object;
  std::vector<CpuKernel> kernels;
  ThreadPool &pool;
};
} // namespace

Result<std::unique_ptr<DeviceCode>> CpuDevice::load(const LaunchPlan &plan, NativeStore) {
  std::string error;
  std::unique_ptr<ObjectLoader> object = ObjectLoader::load(plan.code, error);
  if (!object)
    return Status(ErrorCode::Internal, "the code of '" + plan.name + "' does not load: " + error);
  std::vector<CpuKernel> kernels;
  for (const KernelPlan &kernel : plan.kernels) {
    kernels.push_back(object->find(kernel.function(), error));
    if (!kernels.back())
      return Status(ErrorCode::Internal, "the code of '" + plan.name + "' does not load: " + error);
  }
  return std::unique_ptr<DeviceCode>(std::make_unique<CpuCode>(std::move(object), std::move(kernels), pool));
}

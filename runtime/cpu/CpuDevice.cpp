// CpuDevice.cpp - kernels of compiled code and how their tasks reach threads.
#include "runtime/cpu/CpuDevice.h"
#include "runtime/support/NewPages.h"
#include "runtime/cpu/ObjectLoader.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <vector>
using namespace logitile;

namespace {
class CpuCall : public DeviceCall {
public:
  CpuCall(const std::vector<CpuKernel> &kernels, ThreadPool &pool) : kernels(kernels), pool(pool) {}

  Status launch(const Launch &launch) override {
    CpuKernel kernel = kernels[launch.kernel];
    auto run = [&](int64_t task, int thread, Checkpoint &checkpoint) {
      kernel(launch.arguments, task, launch.scratch + thread * launch.scratchStride, &checkpoint);
    };
    return pool.run(launch.tasks, launch.threads, run, launch.interrupt) ? Status() : interrupted();
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

/// Results up to a limit are put in huge pages, because their memory was just freed by an earlier
/// call and is used again. A virtual machine gives huge pages that are free for seconds back to its
/// host, and getting them again costs more than small pages do. Small pages take half the time if
/// all threads ask for many at once. (As a multiple of the time of a call without: huge pages,
/// bfloat16, 37 x 999 x 12347 0.7, 256 x 4096 x 151936 1.2; small pages at once 0.8 there, and 0.88
/// at 1024 x 2048 x 128256 float32.) The limit is glibc's: what is larger is never taken from
/// memory that the process still has.
void CpuDevice::prepareResult(char *data, int64_t bytes, int threads) {
  constexpr int64_t kMostInHugePages = 32 * 1024 * 1024, kBlock = 4 * 1024 * 1024;
  if (bytes <= kMostInHugePages)
    return adviseHugePages(data, bytes);
  int64_t offset = reinterpret_cast<uintptr_t>(data) % kBlock; // blocks begin with whole pages
  pool.run(llvm::divideCeil(offset + bytes, kBlock), threads, [&](int64_t block, int) {
    int64_t first = std::max<int64_t>(block * kBlock - offset, 0), end = std::min((block + 1) * kBlock - offset, bytes);
    takePages(data + first, end - first);
  });
}

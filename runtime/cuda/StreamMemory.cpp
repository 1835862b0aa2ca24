// StreamMemory.cpp - blocks of workspace, and what it takes to give each of them back.
#include "runtime/cuda/StreamMemory.h"
#include "compiler/Support/SizeText.h"
#include <algorithm>
using namespace logitile;
using namespace logitile::cuda;

namespace {
/// Gives memory of the driver back. Nobody can be told of an error here: memory went with a context
/// that is destroyed, and with a driver that is shut down.
struct FreeOnStream {
  std::shared_ptr<Contexts> contexts;
  DeviceHandle device;
  Context context;
  Stream stream;

  void operator()(char *memory) const {
    const Driver &driver = contexts->driver();
    if (driver.isForked())
      return;
    Result<CurrentContext> entered = CurrentContext::enter(driver, device, context);
    if (entered.isOk())
      driver.memFreeAsync.address(reinterpret_cast<DevicePointer>(memory), stream);
  }
};

Status noMemory(int64_t bytes, const std::string &whose) {
  return Status(ErrorCode::Value, whose + " has no memory for a workspace of " + sizeText(bytes) +
                                      "; give lt.jit a smaller 'workspace' or more 'chunks'");
}

Result<WorkspaceBlock> takeFromFramework(int64_t bytes, const FrameworkMemory &framework) {
  constexpr uintptr_t kAlignment = 256; // of the driver's own memory
  void *data = nullptr, *owner = nullptr;
  if (framework.allocate(framework.context, std::max<int64_t>(bytes, 1), &data, &owner) != 0)
    return noMemory(bytes, "the framework of the call");
  std::shared_ptr<char> memory(static_cast<char *>(data), [release = framework.release, owner](char *) { release(owner); });
  if (reinterpret_cast<uintptr_t>(data) % kAlignment != 0)
    return Status(ErrorCode::Value,
                  "the framework of the call gave memory for a workspace that is not aligned to " + std::to_string(kAlignment) + " bytes");
  return WorkspaceBlock(std::move(memory), bytes);
}
} // namespace

Result<bool> cuda::isCapturing(const Driver &driver, const DeviceStream &stream) {
  CaptureStatus status = CaptureStatus::None;
  if (Status asked = driver.call(driver.streamIsCapturing, streamOf(stream), &status); !asked.isOk())
    return asked;
  return status != CaptureStatus::None;
}

Result<WorkspaceBlock> cuda::takeStreamMemory(const std::shared_ptr<Contexts> &contexts, int64_t bytes, const DeviceStream &stream) {
  if (stream.memory.allocate)
    return takeFromFramework(bytes, stream.memory);
  const Driver &driver = contexts->driver();
  Result<CurrentContext> context = CurrentContext::enter(*contexts, stream.ordinal);
  if (!context.isOk())
    return context.status();
  Result<bool> captured = isCapturing(driver, stream);
  if (!captured.isOk())
    return captured.status();
  if (*captured) // the graph would own memory that outlives the call
    return Status(ErrorCode::Target, "the stream is captured into a CUDA graph, for which memory has to come from a framework; give "
                                     "the call an allocator, or make it outside of the capture");
  DevicePointer data = 0;
  Code code = driver.memAllocAsync.address(&data, std::max<int64_t>(bytes, 1), streamOf(stream));
  if (code == Code::OutOfMemory)
    return noMemory(bytes, driver.nameOf(context->deviceHandle()));
  if (code != Code::Success)
    return driver.failure(driver.memAllocAsync.symbol, code);
  FreeOnStream free{contexts, context->deviceHandle(), context->handle(), streamOf(stream)};
  return WorkspaceBlock(std::shared_ptr<char>(reinterpret_cast<char *>(data), std::move(free)), bytes);
}

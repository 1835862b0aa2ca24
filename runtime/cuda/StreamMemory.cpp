// StreamMemory.cpp - blocks, and what it takes to give each of them back.
#include "runtime/cuda/StreamMemory.h"
#include <algorithm>
using namespace logitile;
using namespace logitile::cuda;

namespace {
/// How a block goes back.
struct Return {
  void (*release)(void *owner) = nullptr; // of the framework; null: the block is the driver's
  void *owner = nullptr;
  std::shared_ptr<Contexts> contexts;
  DeviceHandle device = 0;
  Context context = nullptr;
  Stream stream = nullptr;
};

Status noMemory(int64_t bytes, const std::string &whose) {
  return Status(ErrorCode::Value, whose + " has no memory for a workspace of " + std::to_string(bytes) +
                                      " bytes; give lt.jit a smaller 'workspace' or more 'chunks'");
}
} // namespace

Result<bool> cuda::isCapturing(const Driver &driver, const DeviceStream &stream) {
  CaptureStatus status = CaptureStatus::None;
  if (Status asked = driver.call(driver.streamIsCapturing, streamOf(stream), &status); !asked.isOk())
    return asked;
  return status != CaptureStatus::None;
}

Result<WorkspaceBlock> StreamMemory::takeFromFramework(int64_t bytes, const DeviceStream &stream) {
  constexpr uintptr_t kAlignment = 256; // of the driver's own memory
  void *data = nullptr, *owner = nullptr;
  if (stream.memory.allocate(stream.memory.context, std::max<int64_t>(bytes, 1), &data, &owner) != 0)
    return noMemory(bytes, "the framework of the call");
  auto *note = new Return{stream.memory.release, owner, nullptr, 0, nullptr, nullptr};
  WorkspaceBlock block(*this, static_cast<char *>(data), bytes, bytes, note);
  if (reinterpret_cast<uintptr_t>(data) % kAlignment != 0)
    return Status(ErrorCode::Value,
                  "the framework of the call gave memory for a workspace that is not aligned to " + std::to_string(kAlignment) + " bytes");
  return block;
}

Result<WorkspaceBlock> StreamMemory::take(const std::shared_ptr<Contexts> &contexts, int64_t bytes, const DeviceStream &stream) {
  if (stream.memory.allocate)
    return takeFromFramework(bytes, stream);
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
  auto *note = new Return{nullptr, nullptr, contexts, context->deviceHandle(), context->handle(), streamOf(stream)};
  return WorkspaceBlock(*this, reinterpret_cast<char *>(data), bytes, bytes, note);
}

/// Nobody can be told of an error here. Memory went with a context that is destroyed, and with a driver that is shut down.
void StreamMemory::giveBack(const WorkspaceBlock &block) {
  std::unique_ptr<Return> to(static_cast<Return *>(block.note()));
  if (to->release)
    return to->release(to->owner);
  const Driver &driver = to->contexts->driver();
  if (driver.isForked())
    return;
  Result<CurrentContext> context = CurrentContext::enter(driver, to->device, to->context);
  if (context.isOk())
    driver.memFreeAsync.address(reinterpret_cast<DevicePointer>(block.data()), to->stream);
}

// StreamMemory.h - workspace on a device: from the calling framework, or else from the driver's
// pool, in stream order. The launch plan has the layout.
#pragma once
#include "runtime/device/Device.h"
#include "runtime/cuda/Contexts.h"

namespace logitile::cuda {
/// Memory for kernels that run on the stream. The framework allocates it in the current context,
/// whichever that is.
Result<WorkspaceBlock> takeStreamMemory(const std::shared_ptr<Contexts> &contexts, int64_t bytes, const DeviceStream &stream);

/// Whether launches into the stream become nodes of a CUDA graph. Its context must be current.
Result<bool> isCapturing(const Driver &driver, const DeviceStream &stream);
inline Stream streamOf(const DeviceStream &stream) { return static_cast<Stream>(stream.handle); }
} // namespace logitile::cuda

// KernelWork.h - the predicted work of a GPU kernel's threads, computed from its tiles. Times are
// not here.
#pragma once
#include "compiler/Backends/NVPTX/GPU.h"
#include "compiler/Plan/LaunchPlan.h"
#include "dialect/Logitile.h"

namespace logitile {
/// The work of a kernel, for launches of any size. The work of tensor cores is exact. Bytes that
/// depend on the indices of tokens are counted as if every token had an index in the vocabulary.
/// Empty if the kernel cannot be converted to GPU code; the conversion reports the error.
KernelWork predictWork(KernelOp kernel, const GpuInfo &gpu);
} // namespace logitile

// KernelWork.h - the predicted work of a GPU kernel's threads, computed from its tiles. Times are
// not here.
#pragma once
#include "compiler/Backends/NVPTX/GPU.h"
#include "compiler/Plan/LaunchPlan.h"
#include "dialect/Logitile.h"

namespace logitile {
/// Work of a kernel for any launch of it. Exact for tensor cores; bytes of what tokens name
/// (indices, single entries) are those of a launch where every token names an entry. Empty where
/// the kernel does not become GPU code, which its conversion tells.
KernelWork predictWork(KernelOp kernel, const GpuInfo &gpu);
} // namespace logitile

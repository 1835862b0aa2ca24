// Cost.h - rates of GPUs.
#pragma once
#include "compiler/Backends/NVPTX/GPU.h"
#include "compiler/Target/Machine.h"

namespace logitile::cuda {
/// The rates of the chip of 'gpu'.
Machine getMachine(const Gpu &gpu);
} // namespace logitile::cuda

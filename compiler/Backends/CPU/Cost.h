// Cost.h - rates of CPUs.
#pragma once
#include "compiler/Backends/CPU/Tier.h"
#include "compiler/Target/Machine.h"

namespace logitile::cpu {
/// Those of 'threads' cores of the class of machine that each tier stands for.
Machine getMachine(CpuTier tier, int64_t threads);
} // namespace logitile::cpu

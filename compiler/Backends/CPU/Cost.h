// Cost.h - rates of CPUs.
#pragma once
#include "compiler/Backends/CPU/Tier.h"
#include "compiler/Target/Machine.h"

namespace logitile::cpu {
/// The rates of 'threads' cores of a typical machine with that tier.
Machine getMachine(CpuTier tier, int64_t threads);
} // namespace logitile::cpu

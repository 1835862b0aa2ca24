// Assemble.h - makes the driver assemble PTX for the device. ContextModule.h loads the result.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "runtime/cuda/Contexts.h"

namespace logitile::cuda {
/// Which devices run what is assembled for this one, and by which driver: "compute capability 9.0,
/// driver 12080".
Result<std::string> makerOf(const Driver &driver, DeviceHandle device);

/// The code of a plan as the device of 'context', which is current, runs it. An error where the
/// device is none of 'plan.target', and where the driver refuses the code, with what it writes
/// about it.
Result<std::string> assemble(const Driver &driver, const CurrentContext &context, const LaunchPlan &plan);
} // namespace logitile::cuda

// Assemble.h - makes the driver assemble PTX for the device. ContextModule.h loads the result.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "runtime/cuda/Contexts.h"

namespace logitile::cuda {
/// Names the devices that can run code assembled for this device, and the driver that assembles it:
/// "compute capability 9.0, driver 12080".
Result<std::string> makerOf(const Driver &driver, DeviceHandle device);

/// The code of a plan, assembled for the device of 'context', which must be current. An error if
/// the device cannot run code for 'plan.target', or if the driver refuses the code; the error has
/// the driver's message.
Result<std::string> assemble(const Driver &driver, const CurrentContext &context, const LaunchPlan &plan);
} // namespace logitile::cuda

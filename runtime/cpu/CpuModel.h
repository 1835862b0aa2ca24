// CpuModel.h - the processor of this machine.
#pragma once
#include <string>

namespace logitile {
/// The model, as the system names it: "AMD EPYC 9555 64-Core Processor". Where it does not, the
/// architecture: "x86_64".
const std::string &cpuModel();
} // namespace logitile

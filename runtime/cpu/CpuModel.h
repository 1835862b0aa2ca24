// CpuModel.h - the processor of this machine.
#pragma once
#include <string>

namespace logitile {
/// The model's name from the system: "AMD EPYC 9555 64-Core Processor". If the system has no name,
/// the architecture: "x86_64".
const std::string &cpuModel();
} // namespace logitile

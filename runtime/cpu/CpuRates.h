// CpuRates.h - the rates of a core of this machine. CpuPlatform.cpp uses them.
#pragma once
#include "compiler/Backends/CPU/Tier.h"
#include "compiler/Target/Machine.h"
#include "runtime/cache/CacheFolder.h"
#include <optional>
#include <string>

namespace logitile {
/// Of a processor whose family and model are known to differ from others of its instruction set:
/// products only.
std::optional<UnitRates> tabledRates(unsigned family, unsigned model);
/// With the instructions of a tier that this processor has; takes 0.1 s. What it has no instruction
/// for stays 0.
UnitRates measureRates(CpuTier tier);

/// What the file "cpu-rates" of a folder says of a processor; nothing where it says nothing, or
/// cannot be read.
std::optional<UnitRates> recordedRates(const CacheFolder &folder, const std::string &cpu);
/// Adds a processor to that file, or changes what it says. The folder may be read-only: then
/// nothing happens.
void recordRates(const CacheFolder &folder, const std::string &cpu, const UnitRates &rates);

/// Of this machine, by the first that there is: its record beside the disk cache; where that cache
/// is on, a measurement, which is recorded; the table.
std::optional<UnitRates> hostRates();
} // namespace logitile

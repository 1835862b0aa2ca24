// CpuRates.h - the rates of a core of this machine. CpuPlatform.cpp uses them.
#pragma once
#include "compiler/Backends/CPU/Tier.h"
#include "compiler/Target/Machine.h"
#include "runtime/cache/CacheFolder.h"
#include <optional>
#include <string>

namespace logitile {
/// Rates from a table, for processors whose products are known to be faster or slower than usual
/// for their instruction set. Only rates of products are set.
std::optional<UnitRates> tabledRates(unsigned family, unsigned model);
/// Measures the rates of this processor with the instructions of 'tier'. This takes 0.1 s. Rates
/// for which there is no instruction stay 0.
UnitRates measureRates(CpuTier tier);

/// The rates of a processor in the file "cpu-rates" of a folder; none if the file does not have
/// them, or cannot be read.
std::optional<UnitRates> recordedRates(const CacheFolder &folder, const std::string &cpu);
/// Writes the rates of a processor to that file. Nothing happens if the folder is read-only.
void recordRates(const CacheFolder &folder, const std::string &cpu, const UnitRates &rates);

/// The rates of this machine, from the first of these sources that has them: the file beside the
/// disk cache; a measurement, which is then written to the file, if the disk cache is on; the
/// table.
std::optional<UnitRates> hostRates();
} // namespace logitile

// CpuRates.h - how fast a core of this machine multiplies float32 and pairs of bfloat16. Who decides by that is CpuPlatform.cpp.
#pragma once
#include "runtime/cache/CacheFolder.h"
#include <optional>
#include <string>

namespace logitile {
/// Multiplications and additions of one core, 1e9 a second.
struct ProductRates {
  double float32 = 0, bfloat16 = 0;

  /// Whether bfloat16 is multiplied faster if it is widened to float32 first.
  bool areFasterInFloat32() const { return float32 > bfloat16; }
};

/// Of a processor whose family and model are known to differ from others of its instruction set.
std::optional<ProductRates> tabledRates(unsigned family, unsigned model);
/// Takes 20 ms. Only for processors with avx512_bf16.
ProductRates measureRates();

/// What the file "cpu-rates" of a folder says of a processor; nothing where it says nothing, or cannot be read.
std::optional<ProductRates> recordedRates(const CacheFolder &folder, const std::string &cpu);
/// Adds a processor to that file, or changes what it says. The folder may be read-only: then nothing happens.
void recordRates(const CacheFolder &folder, const std::string &cpu, const ProductRates &rates);

/// Of this machine, by the first that there is: its record beside the disk cache; where that cache is on, a measurement, which is
/// recorded; the table.
std::optional<ProductRates> hostRates();
} // namespace logitile

// Roofline.h - rates of a target, for comparing schedules. Shares matter here, not seconds.
#pragma once
#include "compiler/Target.h"

namespace logitile {
struct Roofline {
  double flops = 0;           // f32 contractions, all threads
  double speedOf16Bit = 1;    // how much faster contractions of 16-bit operands are
  double bandwidth = 0;       // bytes a second, all threads
};
Roofline getRoofline(const Target &target, int64_t threads);
} // namespace logitile

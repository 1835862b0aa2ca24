// Arithmetic.cpp - approximate functions and conversions of one thread. 2^x is as far off here as a
// GPU may be. The other functions are more exact than on a GPU, so tests compare with the tolerance
// of the hardware's tables.
#include "emulator/core/Families.h"
#include "emulator/core/Numbers.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace logitile::emulator {
namespace {
float flush(float value, bool flushes) { return flushes && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }

/// 2^value, off by as much as PTX allows: 2^-22 of the result. How far is chosen by the bits of the
/// value. 2^0 is 1, and no other power crosses it.
float exp2Nearby(float value) {
  constexpr double kMost = 0x1p-22 - 0x1p-24; // rounding to f32 adds the rest
  const double exact = std::exp2(static_cast<double>(value));
  const uint32_t mixed = std::bit_cast<uint32_t>(value) * 0x9e3779b9u;
  const double share = static_cast<int32_t>(mixed ^ mixed << 16) * 0x1p-31; // in [-1, 1)
  if (value == 0 || !std::isfinite(exact))
    return static_cast<float>(exact);
  const auto result = static_cast<float>(exact * (1 + share * kMost));
  return value < 0 ? std::min(result, 1.0f) : std::max(result, 1.0f);
}

float evaluate(Function function, float value) {
  switch (function) {
  case Function::exp2:
    return exp2Nearby(value);
  case Function::log2:
    return std::log2(value);
  case Function::reciprocal:
    return 1.0f / value;
  case Function::reciprocalRoot:
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(value)));
  case Function::root:
    return std::sqrt(value);
  }
  return value;
}

uint16_t roundTo(Element element, float value) { return element == Element::bf16 ? toBf16(value) : toF16(value); }
} // namespace

void approximate(Thread &thread, const Op &op, Slot *frame) {
  const bool flushes = op.instruction.modifiers[1];
  const float value = flush(get<float>(frame, 0), flushes);
  set<float>(frame, 1, flush(evaluate(static_cast<Function>(op.instruction.modifiers[0]), value), flushes));
}

void divide(Thread &thread, const Op &op, Slot *frame) {
  const bool flushes = op.instruction.modifiers[0];
  set<float>(frame, 2, flush(flush(get<float>(frame, 0), flushes) / flush(get<float>(frame, 1), flushes), flushes));
}

void packPair(Thread &thread, const Op &op, Slot *frame) {
  const auto element = static_cast<Element>(op.instruction.modifiers[0]);
  const uint32_t upper = roundTo(element, get<float>(frame, 0)), lower = roundTo(element, get<float>(frame, 1));
  set<uint32_t>(frame, 2, upper << 16 | lower);
}

void roundToHalf(Thread &thread, const Op &op, Slot *frame) {
  set<uint16_t>(frame, 1, roundTo(static_cast<Element>(op.instruction.modifiers[0]), get<float>(frame, 0)));
}

/// PTX ISA, "prmt", without a mode: four bits of the last operand choose each byte; the highest has
/// its sign repeated instead.
void permuteBytes(Thread &, const Op &, Slot *frame) {
  const uint64_t bytes = get<uint32_t>(frame, 0) | uint64_t{get<uint32_t>(frame, 1)} << 32;
  const auto control = get<uint32_t>(frame, 2);
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t choice = control >> 4 * i & 15, byte = bytes >> 8 * (choice & 7) & 0xff;
    result |= (choice & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << 8 * i;
  }
  set<uint32_t>(frame, 3, result);
}
} // namespace logitile::emulator

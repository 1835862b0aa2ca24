// Floats.h - the two 16-bit floats. GPU code includes this file, so it uses no header of the C++
// library.
#pragma once
#include "compiler/Plan/ElementType.h"

namespace logitile {
/// The upper half of an f32.
struct BFloat {
  uint16_t bits = 0;

  BFloat() = default;
  /// Rounded to nearest, ties to even; NaN stays NaN.
  explicit BFloat(float value) {
    uint32_t word = __builtin_bit_cast(uint32_t, value);
    bool isNan = (word & 0x7fffffff) > 0x7f800000;
    uint32_t rounded = word + 0x7fff + ((word >> 16) & 1);
    bits = static_cast<uint16_t>((isNan ? word | 0x400000 : rounded) >> 16);
  }
  operator float() const { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
};

/// IEEE half precision.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  /// Rounded to nearest, ties to even; NaN stays NaN.
  explicit Half(float value) {
    uint32_t word = __builtin_bit_cast(uint32_t, value), magnitude = word & 0x7fffffff, half;
    if (magnitude > 0x7f800000)
      half = 0x7e00;
    else if (magnitude >= 0x477ff000) // rounds beyond 65504
      half = 0x7c00;
    else if (magnitude < 0x38800000) // below 2^-14: added to 0.5, the bits of the subnormal come last, rounded by the addition
      half = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000;
    else
      half = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    bits = static_cast<uint16_t>(half | (word >> 16 & 0x8000));
  }
  operator float() const {
    uint32_t word = bits, magnitude = (word & 0x7fff) << 13, value = magnitude + 0x38000000;
    if (magnitude >= 0x0f800000) // infinity and NaN
      value = magnitude | 0x7f800000;
    else if (magnitude < 0x00800000) // subnormal: as the rest of a number from 2^-14 on, since no f32 may be subnormal
      value = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude + 0x38800000) - 0x1p-14f);
    return __builtin_bit_cast(float, value | (word & 0x8000) << 16);
  }
};
} // namespace logitile

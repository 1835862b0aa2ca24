// Values.h - elements of a caller's arrays as C++ types: the two 16-bit floats, and code for each element type.
// Where arrays lie is the business of Arrays.h.
#pragma once
#include "runtime/Arrays.h"
#include <bit>
#include <cmath>
#include <type_traits>

namespace logitile {
/// The upper half of an f32.
struct BFloat {
  uint16_t bits = 0;

  BFloat() = default;
  /// Rounded to nearest, ties to even; NaN stays NaN.
  explicit BFloat(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    bool isNan = (word & 0x7fffffff) > 0x7f800000;
    uint32_t rounded = word + 0x7fff + ((word >> 16) & 1);
    bits = static_cast<uint16_t>((isNan ? word | 0x400000 : rounded) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// IEEE half precision.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  /// Rounded to nearest, ties to even; NaN stays NaN.
  explicit Half(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value), magnitude = word & 0x7fffffff, half;
    if (magnitude > 0x7f800000)
      half = 0x7e00;
    else if (magnitude >= 0x477ff000) // rounds beyond 65504
      half = 0x7c00;
    else if (magnitude < 0x38800000) // below 2^-14: added to 0.5, the bits of the subnormal come last, rounded by the addition
      half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
    else
      half = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    bits = static_cast<uint16_t>(half | (word >> 16 & 0x8000));
  }
  operator float() const {
    uint32_t word = bits, magnitude = (word & 0x7fff) << 13;
    // Exponents move by multiplying with 2^112, which takes subnormals along.
    float value = std::bit_cast<float>(magnitude) * 0x1p112f;
    if ((word & 0x7c00) == 0x7c00)
      value = std::bit_cast<float>(magnitude | 0x7f800000);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | (word & 0x8000) << 16);
  }
};

template <typename T> constexpr bool isFloatElement = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

/// Calls 'visit' with a value of the C++ type of the elements; a bool is a byte, since a caller's may hold more than 0 and 1.
template <typename Visit> decltype(auto) withElement(ArrayType type, Visit visit) {
  switch (type) {
  case ArrayType::F16:
    return visit(Half());
  case ArrayType::BF16:
    return visit(BFloat());
  case ArrayType::F32:
    return visit(float());
  case ArrayType::F64:
    return visit(double());
  case ArrayType::I8:
    return visit(int8_t());
  case ArrayType::I16:
    return visit(int16_t());
  case ArrayType::I32:
    return visit(int32_t());
  case ArrayType::I64:
    return visit(int64_t());
  case ArrayType::U8:
    return visit(uint8_t());
  case ArrayType::U16:
    return visit(uint16_t());
  case ArrayType::U32:
    return visit(uint32_t());
  case ArrayType::U64:
    return visit(uint64_t());
  case ArrayType::Bool:
    break;
  }
  return visit(uint8_t());
}
} // namespace logitile

// Numbers.h - conversions between 16-bit formats and f32, without help of the host's processor.
#pragma once
#include <bit>
#include <cstdint>

namespace logitile::emulator {
inline float fromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// To nearest, ties to even; NaN stays one.
inline uint16_t toBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff; // what cvt.rn.bf16 gives for every NaN
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float fromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = static_cast<uint32_t>(bits & 0x7fff) << 13;
  if ((bits & 0x7c00) == 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | rest);
  // Scaling by 2^112 moves the exponent to where f32 has it, and makes subnormal numbers normal.
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112f));
}

/// To nearest, ties to even.
inline uint16_t toF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return 0x7fff;        // what cvt.rn.f16 gives for every NaN
  if (rest >= 0x477ff000) // 65520 and above
    return sign | 0x7c00;
  if (rest < 0x38800000) // subnormal: the sum's last bits are the result's
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000);
  return sign | static_cast<uint16_t>((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}
} // namespace logitile::emulator

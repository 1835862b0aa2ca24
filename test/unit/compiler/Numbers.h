// Numbers.h - arrays of every element type with float values, for tests that compare kernels with
// plain loops.
#pragma once
#include "compiler/Backends/CPU/Tier.h"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace logitile {
enum class Number { F32, BF16, F16 };
inline const char *nameOf(Number type) { return type == Number::F32 ? "f32" : type == Number::BF16 ? "bf16" : "f16"; }
inline int64_t sizeOf(Number type) { return type == Number::F32 ? 4 : 2; }

/// The value nearest to 'value' that the type has.
inline float rounded(Number type, float value) {
  if (type == Number::F32 || std::isnan(value))
    return value;
  if (type == Number::F16)
    return static_cast<float>(static_cast<_Float16>(value));
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline void put(Number type, void *to, int64_t i, float value) {
  if (type == Number::F32) {
    static_cast<float *>(to)[i] = value;
    return;
  }
  if (type == Number::F16) {
    static_cast<_Float16 *>(to)[i] = static_cast<_Float16>(value);
    return;
  }
  uint32_t bits;
  float near = rounded(type, value);
  std::memcpy(&bits, &near, 4);
  static_cast<uint16_t *>(to)[i] = std::isnan(value) ? 0x7fc0 : bits >> 16;
}
inline float get(Number type, const void *from, int64_t i) {
  if (type == Number::F32)
    return static_cast<const float *>(from)[i];
  if (type == Number::F16)
    return static_cast<float>(static_cast<const _Float16 *>(from)[i]);
  uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t *>(from)[i]) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// A matrix in memory: element (i, j) at origin + i * stride0 + j * stride1. Memory around it holds
/// a marker, so that tests see what is written outside.
class Matrix {
public:
  Matrix(Number type, int64_t rows, int64_t columns, int64_t stride0, int64_t stride1, int64_t after = 64)
      : type(type), rows(rows), columns(columns), stride0(stride0), stride1(stride1) {
    int64_t low = std::min<int64_t>(0, (rows - 1) * stride0) + std::min<int64_t>(0, (columns - 1) * stride1);
    int64_t high = std::max<int64_t>(0, (rows - 1) * stride0) + std::max<int64_t>(0, (columns - 1) * stride1);
    origin = kBefore - low;
    memory.resize((origin + high + 1 + after) * sizeOf(type) / 4 + 1);
    count = origin + high + 1 + after;
    for (int64_t i = 0; i < count; ++i)
      put(type, memory.data(), i, kMarker);
  }
  /// Rows one after the other.
  Matrix(Number type, int64_t rows, int64_t columns) : Matrix(type, rows, columns, columns, 1) {}

  int64_t indexOf(int64_t i, int64_t j) const { return origin + i * stride0 + j * stride1; }
  float at(int64_t i, int64_t j = 0) const { return get(type, memory.data(), indexOf(i, j)); }
  void set(int64_t i, int64_t j, float value) { put(type, memory.data(), indexOf(i, j), value); }
  void *data() { return reinterpret_cast<char *>(memory.data()) + origin * sizeOf(type); }
  float raw(int64_t i) const { return get(type, memory.data(), i); }
  void fillRandom(std::mt19937 &random, float scale = 1) {
    std::uniform_real_distribution<float> uniform(-scale, scale);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        set(i, j, uniform(random));
  }
  void fill(float value) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        set(i, j, value);
  }
  /// Whether everything outside the matrix still holds the marker; 'paddedRows' rows of a column
  /// may be written.
  bool isCleanOutside(int64_t paddedRows = 0) const {
    std::vector<bool> inside(count);
    for (int64_t i = 0; i < std::max(rows, paddedRows); ++i)
      for (int64_t j = 0; j < columns; ++j)
        if (int64_t index = indexOf(i, j); index >= 0 && index < count)
          inside[index] = true;
    for (int64_t i = 0; i < count; ++i)
      if (!inside[i] && raw(i) != kMarker)
        return false;
    return true;
  }

  Number type;
  int64_t rows, columns, stride0, stride1;

private:
  static constexpr float kMarker = -1792; // exact in every type
  static constexpr int64_t kBefore = 64;
  int64_t origin = 0, count = 0;
  std::vector<float> memory;
};

using Names = std::vector<std::pair<std::string, std::string>>;
/// Replaces every "$name" of 'text', in this order.
inline std::string fill(std::string text, const Names &names) {
  for (const auto &[name, value] : names)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}
inline std::string text(int64_t number) { return std::to_string(number); }

/// The tiers that this machine can run.
inline std::vector<CpuTier> hostTiers() {
  std::string error;
  std::vector<CpuTier> tiers;
  CpuTier host = hostTier(error).value_or(CpuTier::Portable);
  for (CpuTier tier : {CpuTier::Portable, CpuTier::Avx2, CpuTier::Avx512, CpuTier::Avx512Bf16, CpuTier::AmxBf16, CpuTier::AmxBf16Emulated})
    if (runs(host, tier))
      tiers.push_back(tier);
  return tiers;
}
} // namespace logitile

// TensorMap.h - the description of a tensor for tensor copies: the emulator's own form of a
// CUtensorMap, with the same size and the same fields. BulkCopies.h runs the copies.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace logitile::emulator {
/// Types of elements, with the numbers of the CUDA driver (cuda.h, CUtensorMapDataType). The
/// emulator does not know types of 4 bits.
enum class TensorType : uint8_t { u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16, f32Flushed, tf32, tf32Flushed };
uint32_t bytesOf(TensorType type);

/// The arguments of cuTensorMapEncodeTiled, in the same order and with the same numbers.
struct TensorMapArguments {
  TensorType type;
  uint32_t rank;
  void *address;
  std::array<uint64_t, 5> sizes;         // in elements, the innermost first
  std::array<uint64_t, 4> strides;       // in bytes, of all dimensions but the innermost
  std::array<uint32_t, 5> box;           // in elements
  std::array<uint32_t, 5> elementSteps;  // must be 1
  uint32_t interleave = 0, swizzle = 0;  // swizzle: 0: none, 1: 32 bytes, 2: 64 bytes, 3: 128 bytes
  uint32_t promotion = 0, fill = 0;      // fill: the value of elements outside of the tensor; 0: zero, 1: NaN
};

/// Kernels take a map by value, aligned to 64 bytes, as they take a CUtensorMap.
struct alignas(64) TensorMap {
  static constexpr uint64_t kMark = 0x6c6f676974696c65;
  uint64_t mark;
  uint8_t *address;
  std::array<uint64_t, 4> strides;
  std::array<uint32_t, 5> lastIndices; // sizes minus 1, because a size may be 2^32
  std::array<uint16_t, 5> box;
  TensorType type;
  uint8_t rank, span, fillsWithNan; // span: a swizzle exchanges chunks of 16 bytes within so many bytes; 16: no swizzle
};
static_assert(sizeof(TensorMap) == 128, "the size of a CUtensorMap");

/// Fills 'map', and returns "". If the driver would refuse the arguments, or the emulator does not
/// know them, returns the reason instead.
std::string encodeTensorMap(const TensorMapArguments &arguments, TensorMap &map);
} // namespace logitile::emulator

// TensorMap.cpp - the rules of cuTensorMapEncodeTiled, as cuda.h has them.
#include "emulator/core/TensorMap.h"
#include <algorithm>

namespace logitile::emulator {
namespace {
constexpr uint32_t kMostRank = 5, kMostBox = 256, kAlignment = 16;
constexpr uint64_t kMostStride = uint64_t{1} << 40, kMostSize = uint64_t{1} << 32;
constexpr uint32_t kSpans[] = {16, 32, 64, 128};

std::string numbered(const char *what, uint32_t dimension, uint64_t value) {
  return std::string(what) + " of dimension " + std::to_string(dimension) + " is " + std::to_string(value);
}

std::string refusedDimension(const TensorMapArguments &arguments, uint32_t i) {
  const uint64_t size = arguments.sizes[i];
  if (!size || size > kMostSize)
    return numbered("the size", i, size) + ", not one of 1 to 2^32";
  if (!arguments.box[i] || arguments.box[i] > kMostBox)
    return numbered("the box", i, arguments.box[i]) + ", not one of 1 to 256";
  if (arguments.elementSteps[i] != 1)
    return numbered("the step", i, arguments.elementSteps[i]) + "; the emulator knows only 1";
  if (i && (arguments.strides[i - 1] % kAlignment || arguments.strides[i - 1] >= kMostStride))
    return numbered("the stride", i, arguments.strides[i - 1]) + " bytes, not a multiple of 16 below 2^40";
  return "";
}

bool isFloat(TensorType type) { return type >= TensorType::f16; }
} // namespace

uint32_t bytesOf(TensorType type) {
  constexpr uint8_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return kBytes[static_cast<uint32_t>(type)];
}

std::string encodeTensorMap(const TensorMapArguments &arguments, TensorMap &map) {
  if (arguments.type > TensorType::tf32Flushed)
    return "the emulator knows no type " + std::to_string(static_cast<uint32_t>(arguments.type));
  if (!arguments.rank || arguments.rank > kMostRank)
    return "the rank is " + std::to_string(arguments.rank) + ", not one of 1 to 5";
  if (reinterpret_cast<uintptr_t>(arguments.address) % kAlignment)
    return "the address is no multiple of 16";
  for (uint32_t i = 0; i < arguments.rank; ++i)
    if (const std::string why = refusedDimension(arguments, i); !why.empty())
      return why;
  if (arguments.interleave)
    return "the emulator knows no interleaved layouts";
  if (arguments.swizzle > 3)
    return "the emulator knows no swizzle " + std::to_string(arguments.swizzle);
  const uint32_t inner = arguments.box[0] * bytesOf(arguments.type), span = kSpans[arguments.swizzle];
  if (inner % kAlignment)
    return "rows of the box have " + std::to_string(inner) + " bytes, not a multiple of 16";
  if (arguments.swizzle && inner != span)
    return "rows of the box have " + std::to_string(inner) + " bytes, not the " + std::to_string(span) + " of the swizzle" +
           (inner < span ? "; the emulator knows no shorter ones" : "");
  if (arguments.fill > 1 || (arguments.fill && !isFloat(arguments.type)))
    return "only numbers with a point can be filled with NaN";
  map = {};
  map.mark = TensorMap::kMark;
  map.address = static_cast<uint8_t *>(arguments.address);
  map.type = arguments.type;
  map.rank = static_cast<uint8_t>(arguments.rank);
  map.span = static_cast<uint8_t>(span);
  map.fillsWithNan = arguments.fill != 0;
  for (uint32_t i = 0; i < arguments.rank; ++i) {
    map.lastIndices[i] = static_cast<uint32_t>(arguments.sizes[i] - 1);
    map.box[i] = static_cast<uint16_t>(arguments.box[i]);
    if (i)
      map.strides[i - 1] = arguments.strides[i - 1];
  }
  return "";
}
} // namespace logitile::emulator

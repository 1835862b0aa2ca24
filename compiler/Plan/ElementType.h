// ElementType.h - the types of elements in arrays and buffers. GPU code includes this file, so it
// uses no header of the C++ library.
#pragma once
#include "dialect/Enums.h.inc"

namespace logitile {
/// Bytes of one element.
constexpr int64_t elementBytes(ElementType type) { return kElementTypeBytes[static_cast<int>(type)]; }
constexpr bool isFloat(ElementType type) { return type <= ElementType::F64; }
constexpr bool isInteger(ElementType type) { return type >= ElementType::I8 && type <= ElementType::U64; }
} // namespace logitile

// Values.h - elements of a caller's arrays as C++ types: code for each element type. Arrays.h
// describes the arrays.
#pragma once
#include "runtime/arrays/Arrays.h"
#include <type_traits>

namespace logitile {
template <typename T> constexpr bool isFloatElement = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

/// Calls 'visit' with a value of the C++ type of the elements. The type for bool is a byte, because
/// a caller's array may have values other than 0 and 1.
template <typename Visit> decltype(auto) withElement(ElementType type, Visit visit) {
  switch (type) {
  case ElementType::F16:
    return visit(Half());
  case ElementType::BF16:
    return visit(BFloat());
  case ElementType::F32:
    return visit(float());
  case ElementType::F64:
    return visit(double());
  case ElementType::I8:
    return visit(int8_t());
  case ElementType::I16:
    return visit(int16_t());
  case ElementType::I32:
    return visit(int32_t());
  case ElementType::I64:
    return visit(int64_t());
  case ElementType::U8:
    return visit(uint8_t());
  case ElementType::U16:
    return visit(uint16_t());
  case ElementType::U32:
    return visit(uint32_t());
  case ElementType::U64:
    return visit(uint64_t());
  case ElementType::Bool:
    break;
  }
  return visit(uint8_t());
}
} // namespace logitile

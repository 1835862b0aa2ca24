// ElementType.h - the types of elements in arrays and buffers. GPU code includes this file, so it
// uses no header of the C++ library.
#pragma once
#include <stdint.h>

namespace logitile {
/// The order is that of lt_type. Kernels have all but U16, U32 and U64; the runtime reads those
/// too.
enum class ElementType : uint8_t { F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool };
inline constexpr int kElementTypes = static_cast<int>(ElementType::Bool) + 1;

/// Bytes of one element.
int64_t elementBytes(ElementType type);
/// "float16"
const char *typeName(ElementType type);
constexpr bool isFloat(ElementType type) { return type <= ElementType::F64; }
constexpr bool isInteger(ElementType type) { return type >= ElementType::I8 && type <= ElementType::U64; }
} // namespace logitile

// Memory.cpp - elements of views: f32 and i32, with any strides.
#include "test/backends/interpreter/Memory.h"
#include <cstring>

namespace logitile::interpreter {
bool View::isKnown(ViewType type) {
  const bool isStrided = type.getLayout() == Layout::Strided || type.getLayout() == Layout::ColumnMajor;
  return isStrided && (type.getElement().isF32() || type.getElement().isInteger(32));
}

char *View::element(int64_t row, int64_t column) const { return data + 4 * (row * strides[0] + column * strides[1]); }

Number View::read(int64_t row, int64_t column) const {
  if (type.getElement().isInteger(32)) {
    int32_t value;
    std::memcpy(&value, element(row, column), sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, element(row, column), sizeof value);
  return value;
}

void View::write(int64_t row, int64_t column, Number value) const {
  const auto rounded = static_cast<float>(value);
  const auto whole = static_cast<int32_t>(type.getElement().isInteger(32) ? value : 0);
  std::memcpy(element(row, column), type.getElement().isInteger(32) ? static_cast<const void *>(&whole) : &rounded, 4);
}
} // namespace logitile::interpreter

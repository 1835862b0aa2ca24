// Arrays.cpp - names, texts and the merging of leading dimensions.
#include "runtime/arrays/Arrays.h"
#include <numeric>
using namespace logitile;

int64_t Array::elements() const {
  int64_t count = 1;
  for (int64_t extent : extents())
    count *= extent;
  return count;
}

std::string logitile::shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}
std::string logitile::describe(const Array &array) { return std::string(wordOf(array.type)) + shapeText(array.extents()); }

std::string logitile::positionText(int64_t token, std::span<const int64_t> leading, int64_t entry) {
  std::vector<int64_t> position(leading.size());
  for (size_t axis = leading.size(); axis-- > 0;) {
    position[axis] = token % leading[axis];
    token /= leading[axis];
  }
  if (entry >= 0)
    position.push_back(entry);
  return position.empty() ? "" : shapeText(position);
}

const Array *logitile::findArray(std::span<const Array> arrays, std::string_view name) {
  for (const Array &array : arrays)
    if (array.name == name)
      return &array;
  return nullptr;
}

/// "z.hidden"
static std::string longName(OperandPart part, std::string_view owner) {
  return std::string(owner) + (part == OperandPart::Input ? "" : "." + std::string(wordOf(part)));
}
std::string logitile::operandName(const LaunchPlan &plan, OperandPart part, std::string_view owner) {
  bool isShort = part != OperandPart::Input && plan.projections.size() == 1;
  return isShort ? std::string(wordOf(part)) : longName(part, owner);
}
const Array *logitile::findOperand(std::span<const Array> arrays, const LaunchPlan &plan, OperandPart part, std::string_view owner) {
  const Array *array = findArray(arrays, longName(part, owner));
  return array ? array : findArray(arrays, operandName(plan, part, owner));
}

TokenLayout::TokenLayout(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1)
      continue;
    Dimension dimension{shape[axis], strides[axis]};
    Dimension *outer = count > 0 ? &dimensions[count - 1] : nullptr;
    if (outer && outer->stride == dimension.stride * dimension.extent)
      *outer = {outer->extent * dimension.extent, dimension.stride};
    else
      dimensions[count++] = dimension;
  }
  if (count == 0)
    dimensions[count++] = {1, 1};
}

int64_t TokenLayout::unit() const {
  int64_t unit = 0;
  for (const Dimension &dimension : all())
    unit = std::gcd(unit, dimension.stride);
  return unit;
}
int64_t TokenLayout::smallestOffset() const {
  int64_t offset = 0;
  for (const Dimension &dimension : all())
    offset += std::min<int64_t>(dimension.stride, 0) * (dimension.extent - 1);
  return offset;
}
int64_t TokenLayout::largestOffset() const {
  int64_t offset = 0;
  for (const Dimension &dimension : all())
    offset += std::max<int64_t>(dimension.stride, 0) * (dimension.extent - 1);
  return offset;
}

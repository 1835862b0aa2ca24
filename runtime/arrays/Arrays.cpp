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
std::string logitile::describe(const Array &array) { return typeName(array.type) + shapeText(array.extents()); }

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
const Array *logitile::findArray(std::span<const Array> arrays, const LaunchPlan &plan, std::string_view name) {
  const Array *array = findArray(arrays, name);
  return array ? array : findArray(arrays, shortName(plan, name));
}
std::string logitile::shortName(const LaunchPlan &plan, std::string_view name) {
  if (plan.projections.size() == 1 && name.starts_with(plan.projections.front().name + "."))
    name.remove_prefix(plan.projections.front().name.size() + 1);
  return std::string(name);
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

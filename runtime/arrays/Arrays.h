// Arrays.h - the arrays of a caller: their names, addresses and strides. Values.h reads their
// elements.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "runtime/arrays/Floats.h"
#include "runtime/support/Status.h"
#include <span>
#include <string_view>
#include <vector>

namespace logitile {
constexpr int kMaxRank = 32;

struct Array {
  std::string_view name;
  void *data = nullptr;
  ElementType type = ElementType::F32;
  int rank = 0;
  const int64_t *shape = nullptr;
  const int64_t *strides = nullptr; // in elements

  std::span<const int64_t> extents() const { return {shape, static_cast<size_t>(rank)}; }
  int64_t extent(int axis) const { return shape[axis < 0 ? rank + axis : axis]; }
  int64_t stride(int axis) const { return strides[axis < 0 ? rank + axis : axis]; }
  int64_t elements() const;
  char *bytes() const { return static_cast<char *>(data); }
};

/// "float32[4, 17]"
std::string describe(const Array &array);
/// "[4, 17]"
std::string shapeText(std::span<const int64_t> shape);
/// The position of a token in the leading dimensions, as text: "[3, 17]". 'entry' is appended
/// unless it is negative. "" if there are no dimensions.
std::string positionText(int64_t token, std::span<const int64_t> leading, int64_t entry = -1);

/// The array called 'name'; null if there is none.
const Array *findArray(std::span<const Array> arrays, std::string_view name);
/// The caller's array for an input or for a part of a projection, or for its gradient; null if
/// there is none. The hidden states of projection z are called "z.hidden", or "hidden" if there is
/// no other projection. Only this function reads such names.
const Array *findOperand(std::span<const Array> arrays, const LaunchPlan &plan, OperandPart part, std::string_view owner);
/// The shortest name of such an array, for errors.
std::string operandName(const LaunchPlan &plan, OperandPart part, std::string_view owner);

/// The layout of an array's tokens in memory: its leading dimensions. Neighbouring dimensions are
/// merged if one stride describes both.
class TokenLayout {
public:
  TokenLayout(std::span<const int64_t> shape, std::span<const int64_t> strides);

  /// Whether one stride describes all tokens: token t is at t * stride().
  bool isEven() const { return count == 1; }
  int64_t stride() const { return dimensions[count - 1].stride; }
  /// The largest number that divides every offset; 0 if all tokens are at the same place.
  int64_t unit() const;
  /// The smallest and largest offset of a token, in elements.
  int64_t smallestOffset() const;
  int64_t largestOffset() const;

  /// Calls 'visit' with runs of tokens that are stride() apart, in order: the first token, the
  /// number of tokens, the offset of the first one. There must be at least one token.
  template <typename Visit> void forRuns(Visit visit) const;

  struct Dimension {
    int64_t extent, stride;
  };
  std::span<const Dimension> all() const { return {dimensions, static_cast<size_t>(count)}; }
  int dimensionCount() const { return count; }

private:
  int count = 0; // at least 1
  Dimension dimensions[kMaxRank];
};

template <typename Visit> void TokenLayout::forRuns(Visit visit) const {
  int64_t run = dimensions[count - 1].extent;
  int64_t index[kMaxRank] = {}, offset = 0;
  for (int64_t token = 0;; token += run) {
    visit(token, run, offset);
    int axis = count - 2;
    for (; axis >= 0; --axis) { // one step of the outer dimensions, the last one fastest
      offset += dimensions[axis].stride;
      if (++index[axis] < dimensions[axis].extent)
        break;
      offset -= dimensions[axis].stride * dimensions[axis].extent;
      index[axis] = 0;
    }
    if (axis < 0)
      return;
  }
}
} // namespace logitile

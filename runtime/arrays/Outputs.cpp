// Outputs.cpp - loops over the elements of a caller's arrays.
#include "runtime/arrays/Outputs.h"
#include "runtime/arrays/Values.h"
#include <algorithm>
using namespace logitile;

namespace {
/// Calls visit(pointer, count, stride) for runs of elements that lie evenly, until all are visited.
template <typename T, typename Visit> void forElements(const Array &array, Visit visit) {
  if (array.elements() == 0)
    return;
  TokenLayout layout(array.extents(), {array.strides, static_cast<size_t>(array.rank)});
  T *data = static_cast<T *>(array.data);
  layout.forRuns([&](int64_t, int64_t count, int64_t offset) { visit(data + offset, count, layout.stride()); });
}

template <typename T> void fill(const Array &array, T value) {
  forElements<T>(array, [&](T *run, int64_t count, int64_t stride) {
    if (stride == 1)
      std::fill(run, run + count, value);
    else
      for (int64_t i = 0; i < count; ++i)
        run[i * stride] = value;
  });
}

/// What is in the memory of a plan for each token: one value, or a row of a list.
struct Entries {
  int64_t places = 0, stride = 1; // 0: one value
};

/// Every value converted by 'convert', which takes its number in memory; 'rest' for ignored tokens.
/// There must be at least one token.
template <typename To, typename Convert>
void scatter(const Array &array, const Tokens &tokens, To rest, Convert convert, Entries source = {}) {
  if (!tokens.allCount())
    fill(array, rest);
  To *data = static_cast<To *>(array.data);
  size_t axes = array.rank - (source.places > 0);
  TokenLayout layout(array.extents().first(axes), {array.strides, axes});
  if (source.places == 0)
    return forCounted(layout, tokens, [&](int64_t token, int64_t offset) { data[offset] = convert(token); });
  int64_t step = array.stride(-1);
  forCounted(layout, tokens, [&](int64_t token, int64_t offset) {
    for (int64_t place = 0; place < source.places; ++place)
      data[offset + place * step] = convert(token * source.stride + place);
  });
}
} // namespace

Status logitile::checkArray(const Array &array, const char *what, std::span<const int64_t> shape, std::span<const ElementType> types) {
  std::string name = std::string(what) + " '" + std::string(array.name) + "'";
  if (std::ranges::find(types, array.type) == types.end()) {
    std::string wanted;
    for (ElementType type : types)
      wanted += (wanted.empty() ? "" : " or ") + std::string(wordOf(type));
    return Status(ErrorCode::Type, name + " is " + describe(array) + "; it must be " + wanted);
  }
  if (!std::ranges::equal(shape, array.extents()))
    return Status(ErrorCode::Value, name + " has shape " + shapeText(array.extents()) + "; it must be " + shapeText(shape));
  return Status();
}

void logitile::scatterOutput(const Array &array, const Tokens &tokens, ElementType element, const char *values, int64_t places,
                             int64_t stride) {
  if (tokens.total == 0)
    return;
  Entries source{places, stride};
  auto *words = reinterpret_cast<const int32_t *>(values);
  switch (array.type) {
  case ElementType::I64:
    return scatter<int64_t>(array, tokens, -1, [&](int64_t number) { return words[number]; }, source);
  case ElementType::Bool:
    return scatter<uint8_t>(
        array, tokens, 0,
        [&](int64_t number) { return (element == ElementType::Bool ? values[number] : words[number]) != 0; }, source);
  default:
    return scatter<float>(array, tokens, 0, [&](int64_t number) { return reinterpret_cast<const float *>(values)[number]; }, source);
  }
}

void logitile::scatterGradient(const Array &array, const Tokens &tokens, const float *values, float factor, int64_t places, int64_t stride) {
  if (tokens.total == 0)
    return;
  withElement(array.type, [&](auto example) {
    using T = decltype(example);
    if constexpr (isFloatElement<T>)
      scatter<T>(array, tokens, T(0.0f), [&](int64_t number) { return T(values[number] * factor); }, {places, stride});
  });
}

void logitile::storeVector(const Array &array, const float *values, float factor) {
  Tokens all{array.extents(), array.elements(), array.elements(), nullptr};
  scatterGradient(array, all, values, factor);
}

void logitile::storeScalar(const Array &array, double value) {
  withElement(array.type, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_same_v<T, double>)
      *static_cast<T *>(array.data) = value;
    else if constexpr (isFloatElement<T>)
      *static_cast<T *>(array.data) = T(static_cast<float>(value));
  });
}

double logitile::sumOf(const char *values, ElementType element, int64_t count) {
  auto sum = [&](auto *data) {
    double total = 0;
    for (int64_t i = 0; i < count; ++i)
      total += data[i];
    return total;
  };
  if (element == ElementType::I32)
    return sum(reinterpret_cast<const int32_t *>(values));
  return element == ElementType::Bool ? sum(values) : sum(reinterpret_cast<const float *>(values));
}

void logitile::fillZero(const Array &array) {
  withElement(array.type, [&](auto example) { fill<decltype(example)>(array, decltype(example)()); });
}

void logitile::zeroIgnoredRows(const Array &array, const Tokens &tokens) {
  if (tokens.allCount())
    return;
  size_t axes = tokens.leading.size();
  TokenLayout layout(tokens.leading, {array.strides, axes});
  int64_t next = 0, size = elementBytes(array.type);
  layout.forRuns([&](int64_t first, int64_t count, int64_t offset) {
    for (int64_t token = first; token < first + count; ++token) {
      if (next < tokens.counted && tokens.map[next] == token) {
        ++next;
        continue;
      }
      Array row = array;
      row.data = array.bytes() + (offset + (token - first) * layout.stride()) * size;
      row.rank = 1;
      row.shape += axes;
      row.strides += axes;
      fillZero(row);
    }
  });
}

void logitile::scale(const Array &array, float factor) {
  withElement(array.type, [&](auto example) {
    using T = decltype(example);
    if constexpr (isFloatElement<T>)
      forElements<T>(array, [&](T *run, int64_t count, int64_t stride) {
        for (int64_t i = 0; i < count; ++i)
          run[i * stride] = T(static_cast<float>(run[i * stride]) * factor);
      });
  });
}

// Tokens.cpp - finds ignored tokens and rows.
#include "runtime/arrays/Tokens.h"
#include "runtime/arrays/Values.h"
#include <numeric>
using namespace logitile;

namespace {
/// Whether the token at an offset is ignored. Integers are compared as the numbers that they are,
/// whatever their width.
template <typename T> struct Matches {
  const T *data;
  int64_t value;
  int64_t entries, stride; // 1 entry where the array has no axis of entries

  bool operator()(int64_t offset) const {
    bool all = true;
    for (int64_t entry = 0; entry < entries; ++entry)
      all &= std::cmp_equal(data[offset + entry * stride], value);
    return all;
  }
};

/// Calls visit(layout, matches) with what there is to match.
template <typename Visit> void withMatches(const IgnoreRule &rule, const Tokens &tokens, Visit visit) {
  const Array &array = *rule.array;
  size_t axes = tokens.leading.size();
  bool hasEntries = static_cast<size_t>(array.rank) > axes;
  TokenLayout layout(array.extents().first(axes), {array.strides, axes});
  withElement(array.type, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>)
      visit(layout, Matches<T>{static_cast<const T *>(array.data), rule.value, hasEntries ? array.extent(-1) : 1,
                               hasEntries ? array.stride(-1) : 0});
  });
}
} // namespace

int64_t logitile::countTokens(const IgnoreRule &rule, const Tokens &tokens) {
  if (!rule.array || tokens.total == 0)
    return tokens.total;
  int64_t ignored = 0;
  withMatches(rule, tokens, [&](const TokenLayout &layout, auto matches) {
    layout.forRuns([&](int64_t, int64_t count, int64_t offset) {
      for (int64_t i = 0; i < count; ++i)
        ignored += matches(offset + i * layout.stride());
    });
  });
  return tokens.total - ignored;
}

void logitile::fillMap(const IgnoreRule &rule, const Tokens &tokens, int32_t *map) {
  if (tokens.allCount()) {
    std::iota(map, map + tokens.total, 0);
    return;
  }
  withMatches(rule, tokens, [&](const TokenLayout &layout, auto matches) {
    int64_t next = 0;
    layout.forRuns([&](int64_t first, int64_t count, int64_t offset) {
      for (int64_t i = 0; i < count && next < tokens.counted; ++i) {
        map[next] = static_cast<int32_t>(first + i);
        next += !matches(offset + i * layout.stride());
      }
    });
  });
}

RowUnits logitile::rowUnitsOf(const TokenLayout &layout, int64_t tokens) {
  RowUnits units;
  units.first = layout.smallestOffset();
  units.unit = std::max<int64_t>(layout.unit(), 1);
  units.most = (layout.largestOffset() - units.first) / units.unit;
  units.isNatural = tokens == 1 || (layout.isEven() && layout.stride() > 0);
  return units;
}

void logitile::fillRows(const TokenLayout &layout, const RowUnits &units, const Tokens &tokens, int32_t *rows) {
  forCounted(layout, tokens,
             [&](int64_t token, int64_t offset) { rows[token] = static_cast<int32_t>((offset - units.first) / units.unit); });
}

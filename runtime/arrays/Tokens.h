// Tokens.h - the tokens of a call that count, and their rows in the caller's arrays. Inputs.h and
// Outputs.h use them.
#pragma once
#include "runtime/arrays/Arrays.h"

namespace logitile {
/// The token input that tells ignored tokens, if there is one.
struct IgnoreRule {
  const Array *array = nullptr; // integers [leading] or [leading, K]; null: no token is ignored
  int64_t value = 0;            // a token is ignored if all its entries have this value
};

/// The tokens of a call in row-major order of the leading dimensions.
struct Tokens {
  std::span<const int64_t> leading;
  int64_t total = 0;
  int64_t counted = 0;
  const int32_t *map = nullptr; // counted token -> token; set once the call has memory for it

  bool allCount() const { return counted == total; }
};

/// Counts the tokens that are not ignored.
int64_t countTokens(const IgnoreRule &rule, const Tokens &tokens);
/// Writes the numbers of the tokens that are not ignored to 'map', in order.
void fillMap(const IgnoreRule &rule, const Tokens &tokens, int32_t *map);

/// How kernels find the rows of a caller's array: row i is i * unit elements after 'first'.
struct RowUnits {
  int64_t first = 0;      // in elements, from the array's data
  int64_t unit = 1;       // in elements
  int64_t most = 0;       // the largest row
  bool isNatural = false; // token t is in row t
};
RowUnits rowUnitsOf(const TokenLayout &layout, int64_t tokens);

/// Calls visit(counted token, offset in elements) for every token that counts.
template <typename Visit> void forCounted(const TokenLayout &layout, const Tokens &tokens, Visit visit) {
  int64_t next = 0, stride = layout.stride();
  layout.forRuns([&](int64_t first, int64_t count, int64_t offset) {
    if (!tokens.allCount()) {
      for (; next < tokens.counted && tokens.map[next] < first + count; ++next)
        visit(next, offset + (tokens.map[next] - first) * stride);
    } else if (stride == 1) { // a loop of its own, so that it becomes vector code
      for (int64_t i = 0; i < count; ++i)
        visit(first + i, offset + i);
    } else {
      for (int64_t i = 0; i < count; ++i)
        visit(first + i, offset + i * stride);
    }
  });
}

/// Writes to 'rows' the row of every token that counts.
void fillRows(const TokenLayout &layout, const RowUnits &units, const Tokens &tokens, int32_t *rows);
} // namespace logitile

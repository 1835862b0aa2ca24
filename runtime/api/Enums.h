// Enums.h - the enumerations of logitile.h as those of the library. Both count from 0 in the same
// order: some are generated from one definition, the others are checked here.
#pragma once
#include "compiler/Request.h"
#include "runtime/logitile.h"
#include "runtime/plan/CallRules.h"
#include <initializer_list>

namespace logitile {
/// Whether the names of logitile.h, given in the order of the library's values, have the same
/// values, and none is left out.
constexpr bool countFromZero(std::initializer_list<int> values, size_t count) {
  int next = 0;
  for (int value : values)
    if (value != next++)
      return false;
  return values.size() == count;
}
static_assert(countFromZero({LT_NONE, LT_SUM, LT_MEAN}, kWordCount<Reduction>));
static_assert(countFromZero({LT_FLOAT16, LT_BFLOAT16, LT_FLOAT32, LT_FLOAT64, LT_INT8, LT_INT16, LT_INT32, LT_INT64, LT_UINT8, LT_UINT16,
                             LT_UINT32, LT_UINT64, LT_BOOL},
                            kElementTypes));

/// None where a caller gives a number that is none of the values.
template <HasWords Enum> constexpr std::optional<Enum> valueOf(int given) {
  return given >= 0 && given < static_cast<int>(kWordCount<Enum>) ? std::optional(static_cast<Enum>(given)) : std::nullopt;
}
constexpr std::optional<ElementType> checkedType(int given) {
  return given >= 0 && given < kElementTypes ? std::optional(static_cast<ElementType>(given)) : std::nullopt;
}
/// Null where there is no such value.
template <HasWords Enum> const char *nameOf(int given) {
  std::optional<Enum> value = valueOf<Enum>(given);
  return value ? wordOf(*value).data() : nullptr; // words are literals
}
} // namespace logitile

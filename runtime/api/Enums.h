// Enums.h - numbers of a caller as enumerations of the library.
#pragma once
#include "dialect/types/Enums.h"

namespace logitile {
/// None where a caller gives a number that is none of the values.
template <HasWords Enum> constexpr std::optional<Enum> valueOf(int given) {
  return given >= 0 && given < static_cast<int>(kWordCount<Enum>) ? std::optional(static_cast<Enum>(given)) : std::nullopt;
}
/// Null where there is no such value.
template <HasWords Enum> const char *nameOf(int given) {
  std::optional<Enum> value = valueOf<Enum>(given);
  return value ? wordOf(*value).data() : nullptr; // words are literals
}
} // namespace logitile

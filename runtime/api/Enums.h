// Enums.h - numbers of a caller as enumerations of the library.
#pragma once
#include "dialect/types/Enums.h"

namespace logitile {
/// The value with the number 'given'; none if no value has it.
template <HasWords Enum> constexpr std::optional<Enum> valueOf(int given) {
  return given >= 0 && given < static_cast<int>(kWordCount<Enum>) ? std::optional(static_cast<Enum>(given)) : std::nullopt;
}
/// The name of the value with the number 'given'; null if no value has it.
template <HasWords Enum> const char *nameOf(int given) {
  std::optional<Enum> value = valueOf<Enum>(given);
  return value ? wordOf(*value).data() : nullptr; // words are literals
}
} // namespace logitile

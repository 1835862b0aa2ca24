// Enums.h - the enumerations of the dialect, which plans and requests use too, and their words in
// IR and JSON. LogitileAttrs.td and Request.td define them. No MLIR or LLVM here, because the
// runtime includes this file.
#pragma once
#include "dialect/Enums.h.inc"
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace logitile {
/// An enumeration with values from 0 on and a word for each, which `wordsOf` lists.
template <typename Enum>
concept HasWords = requires(Enum value) { wordsOf(value); };

/// "forward"
template <HasWords Enum>
constexpr std::string_view wordOf(Enum value) {
  return wordsOf(value)[static_cast<size_t>(value)];
}
template <HasWords Enum>
inline constexpr size_t kWordCount = std::size(wordsOf(Enum()));
template <HasWords Enum>
inline constexpr Enum kLast = static_cast<Enum>(kWordCount<Enum> - 1);

/// None where there is no such word.
template <HasWords Enum>
constexpr std::optional<Enum> fromWord(std::string_view word) {
  for (size_t i = 0; i < kWordCount<Enum>; ++i)
    if (wordsOf(Enum())[i] == word)
      return static_cast<Enum>(i);
  return std::nullopt;
}
} // namespace logitile

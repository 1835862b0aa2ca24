// Words.h - the Python words for the enumerations of the C interface.
#pragma once
#include "python/bindings/Bindings.h"
#include <vector>

namespace logitile::python {
/// The names of all values, which count from 0.
template <typename Enum>
std::vector<std::string> wordsOf(const char *(*nameOf)(Enum)) {
  std::vector<std::string> words;
  while (const char *word = nameOf(static_cast<Enum>(words.size())))
    words.push_back(word);
  return words;
}

/// The value with this name. A ValueError says what it is for and which there are.
template <typename Enum>
Enum valueOf(const char *what, const std::string &word, const char *(*nameOf)(Enum)) {
  std::vector<std::string> words = wordsOf(nameOf);
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word)
      return static_cast<Enum>(i);
    list += (i == 0 ? "'" : i + 1 < words.size() ? ", '" : " or '") + words[i] + "'";
  }
  throw pybind11::value_error(std::string(what) + " is '" + word + "'; it must be " + list);
}
} // namespace logitile::python

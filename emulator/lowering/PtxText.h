// PtxText.h - parts of a PTX text: statements, the words of their opcodes, and operands.
// InlinePtx.cpp and WgmmaPtx.cpp interpret them.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace logitile::emulator {
/// "cp.async.cg [$0], [$1], 16" has the words "cp", "async", "cg" and the operands "[$0]", "[$1]",
/// "16".
struct Statement {
  std::vector<std::string_view> words, operands;
};

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const size_t first = text.find_first_not_of(kSpace);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

/// Splits a text at the separators that are not inside braces, and trims the parts.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '{') - (text[i] == '}');
    if (text[i] != separator || depth)
      continue;
    parts.push_back(trim(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(trim(text.substr(start)));
  return parts;
}

/// Reads a statement. 'text' does not include the semicolon.
inline Statement readStatement(std::string_view text) {
  const size_t space = text.find_first_of(" \t\n");
  Statement statement{split(text.substr(0, space), '.'), {}};
  if (space != text.npos)
    statement.operands = split(text.substr(space), ',');
  return statement;
}

inline std::optional<uint32_t> readNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// The words of an opcode, to be taken one by one.
class Words {
public:
  explicit Words(const std::vector<std::string_view> &words) : words(words) {}
  bool isEnd() const { return next == words.size(); }
  std::string_view take() { return isEnd() ? std::string_view() : words[next++]; }
  /// Takes the next word if it is one of 'choices'. Returns whether it is.
  bool take(std::initializer_list<std::string_view> choices) {
    const bool isOne = !isEnd() && std::ranges::find(choices, words[next]) != choices.end();
    next += isOne;
    return isOne;
  }

private:
  const std::vector<std::string_view> &words;
  size_t next = 0;
};
} // namespace logitile::emulator

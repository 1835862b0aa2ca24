// InlinePtx.cpp - reads one statement of PTX: an opcode with its modifiers, and operands. What is not understood to the last
// word is unknown, so no modifier is overlooked.
#include "emulator/InlinePtx.h"
#include <algorithm>
#include <charconv>

namespace logitile::emulator {
namespace {
/// "cp.async.cg [$0], [$1], 16;" has the words "cp", "async", "cg" and the operands "[$0]", "[$1]", "16".
struct Statement {
  std::vector<std::string_view> words, operands;
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const size_t first = text.find_first_not_of(kSpace);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t end;
  while ((end = text.find(separator)) != text.npos) {
    parts.push_back(trim(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  parts.push_back(trim(text));
  return parts;
}

/// None where there is not exactly one statement.
std::optional<Statement> readStatement(std::string_view text) {
  text = trim(text);
  if (text.find(';') + 1 != text.size() || text.empty())
    return std::nullopt;
  text = trim(text.substr(0, text.size() - 1));
  const size_t space = text.find_first_of(" \t\n");
  Statement statement{split(text.substr(0, space), '.'), {}};
  if (space != text.npos)
    statement.operands = split(text.substr(space), ',');
  return statement;
}

/// The words of an opcode, taken one by one.
class Words {
public:
  explicit Words(const std::vector<std::string_view> &words) : words(words) {}
  bool isEnd() const { return next == words.size(); }
  /// Takes the next word if it is one of these.
  bool take(std::initializer_list<std::string_view> choices) {
    const bool isOne = !isEnd() && std::ranges::find(choices, words[next]) != choices.end();
    next += isOne;
    return isOne;
  }

private:
  const std::vector<std::string_view> &words;
  size_t next = 0;
};

/// PTX ISA, "cp.async": the size of a copy. With .cg, which keeps it out of L1, only 16 bytes are possible.
std::optional<uint32_t> copyBytes(std::string_view operand, bool isCg) {
  uint32_t bytes = 0;
  const auto [end, problem] = std::from_chars(operand.data(), operand.data() + operand.size(), bytes);
  if (problem != std::errc() || end != operand.data() + operand.size())
    return std::nullopt;
  const bool isPossible = bytes == 16 || (!isCg && (bytes == 4 || bytes == 8));
  return isPossible ? std::optional(bytes) : std::nullopt;
}

/// PTX ISA, "cp.async": cp.async.{ca,cg}.shared{::cta}.global{.L2::64B,.L2::128B,.L2::256B} [to], [from], bytes{, bytes of the source}.
/// The last modifier is a hint to prefetch and changes no value.
std::optional<Instruction> readCopy(Words words, const Statement &statement, uint32_t inputs) {
  const bool isCg = words.take({"cg"});
  if (!isCg && !words.take({"ca"}))
    return std::nullopt;
  if (!words.take({"shared", "shared::cta"}) || !words.take({"global"}))
    return std::nullopt;
  words.take({"L2::64B", "L2::128B", "L2::256B"});
  const std::vector<std::string_view> &operands = statement.operands;
  const bool hasSourceBytes = operands.size() == 4;
  if (!words.isEnd() || operands.size() != inputs + 1 || operands.size() < 3 || operands.size() > 4)
    return std::nullopt;
  const std::optional<uint32_t> bytes = copyBytes(operands[2], isCg);
  if (!bytes || operands[0] != "[$0]" || operands[1] != "[$1]" || (hasSourceBytes && operands[3] != "$2"))
    return std::nullopt;
  const std::string cache = isCg ? "cg" : "ca";
  return findInstruction("cp.async." + cache + ".shared.global." + std::to_string(*bytes) + (hasSourceBytes ? ".s" : ""));
}
} // namespace

std::optional<Instruction> readPtx(std::string_view text, uint32_t inputs) {
  const std::optional<Statement> statement = readStatement(text);
  if (!statement)
    return std::nullopt;
  Words words(statement->words);
  if (words.take({"cp"}) && words.take({"async"}))
    return readCopy(words, *statement, inputs);
  return std::nullopt;
}
} // namespace logitile::emulator

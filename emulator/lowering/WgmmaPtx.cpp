// WgmmaPtx.cpp - reads inline PTX of wgmma: PTX ISA, "wgmma.mma_async" and "wgmma.wait_group". A
// predicate of the text may say whether the product adds to its sums.
#include "emulator/core/Families.h"
#include "emulator/lowering/InlinePtx.h"
#include "emulator/lowering/PtxText.h"
#include "emulator/instructions/InstructionTable.h"

namespace logitile::emulator {
namespace {
constexpr uint32_t kUnknown = ~0u;

class Reader {
public:
  explicit Reader(const PtxOperands &given) : given(given) {}

  /// The slot of "$7", or a number of the text as a literal; kUnknown for anything else.
  uint32_t place(std::string_view text) const {
    if (!text.empty() && text[0] == '$') {
      const std::optional<uint32_t> number = readNumber(text.substr(1));
      const uint32_t outputs = static_cast<uint32_t>(given.ties.size());
      return number && *number >= outputs && *number - outputs < given.inputs ? *number - outputs : kUnknown;
    }
    const bool isNegative = text == "-1";
    const std::optional<uint32_t> number = readNumber(text);
    return isNegative ? kLiteral | 2 : number && *number <= 1 ? kLiteral | *number : kUnknown;
  }

  /// The first of the slots of "{$8, $9, $10, $11}", which follow each other.
  uint32_t places(std::string_view text, uint32_t count) const {
    const std::vector<std::string_view> parts = list(text);
    const uint32_t first = parts.empty() ? kUnknown : place(parts[0]);
    if (parts.size() != count || first == kUnknown || first & kLiteral)
      return kUnknown;
    for (uint32_t i = 0; i < count; ++i)
      if (place(parts[i]) != first + i)
        return kUnknown;
    return first;
  }

  /// The first slot of the inputs that are tied to the outputs "{$0, $1, ...}", which are all of
  /// them.
  uint32_t tiedInputs(std::string_view text) const {
    const std::vector<std::string_view> parts = list(text);
    if (parts.size() != given.ties.size() || parts.empty())
      return kUnknown;
    for (uint32_t i = 0; i < parts.size(); ++i)
      if (parts[i] != "$" + std::to_string(i) || given.ties[i] != given.ties[0] + i)
        return kUnknown;
    return given.ties[0];
  }

private:
  static std::vector<std::string_view> list(std::string_view text) {
    if (text.size() < 2 || text.front() != '{' || text.back() != '}')
      return {};
    return split(text.substr(1, text.size() - 2), ',');
  }
  const PtxOperands &given;
};

/// Of "m64n128k16".
std::optional<uint32_t> columnsOf(std::string_view shape) {
  constexpr std::string_view depth = "k16";
  if (!shape.starts_with("m64n") || !shape.ends_with(depth) || shape.size() < 4 + depth.size())
    return std::nullopt;
  const std::optional<uint32_t> columns = readNumber(shape.substr(4, shape.size() - 4 - depth.size()));
  return columns && *columns % 8 == 0 && *columns >= 8 && *columns <= 256 ? columns : std::nullopt;
}

struct Kind {
  uint32_t columns;
  Element element;
};
std::optional<Kind> readKind(Words words) {
  if (!words.take({"wgmma"}) || !words.take({"mma_async"}) || !words.take({"sync"}) || !words.take({"aligned"}))
    return std::nullopt;
  const std::string_view shape = words.take();
  if (!words.take({"f32"}))
    return std::nullopt;
  const std::string_view a = words.take(), b = words.take();
  const std::optional<uint32_t> columns = columnsOf(shape);
  if (a != b || !words.isEnd() || (a != "bf16" && a != "f16") || !columns)
    return std::nullopt;
  return Kind{*columns, a == "bf16" ? Element::bf16 : Element::f16};
}

std::optional<Instruction> readProduct(const Statement &statement, const PtxOperands &given, uint32_t predicate) {
  const std::optional<Kind> kind = readKind(Words(statement.words));
  const std::vector<std::string_view> &operands = statement.operands;
  if (!kind || operands.size() < 6)
    return std::nullopt;
  const Reader reader(given);
  const bool hasFragment = operands[1].starts_with("{");
  const uint32_t transposes = hasFragment ? 1 : 2;
  if (operands.size() != 6 + transposes || operands[3] != "p" || given.ties.size() != kind->columns / 2)
    return std::nullopt;
  std::vector<uint32_t> places = {reader.tiedInputs(operands[0]),
                                  given.inputs,
                                  hasFragment ? reader.places(operands[1], 4) : reader.place(operands[1]),
                                  reader.place(operands[2]),
                                  predicate,
                                  reader.place(operands[4]),
                                  reader.place(operands[5]),
                                  transposes == 2 ? reader.place(operands[6]) : kLiteral,
                                  reader.place(operands[5 + transposes])};
  if (std::ranges::find(places, kUnknown) != places.end())
    return std::nullopt;
  Instruction product{Meeting::aligned, nullptr, multiplyAsync, {kind->columns, uint32_t(kind->element), hasFragment, 0}, true, 0, {}};
  product.operands = std::move(places);
  return product;
}

/// wgmma.wait_group with the sums as operands, so that no compiler uses them before it.
std::optional<Instruction> readWait(const Statement &statement, const PtxOperands &given) {
  if (statement.operands.size() != 1)
    return std::nullopt;
  const std::optional<uint32_t> number = readNumber(statement.operands[0]);
  const uint32_t groups = number ? kLiteral | *number : Reader(given).place(statement.operands[0]);
  if (groups == kUnknown)
    return std::nullopt;
  Instruction wait{Meeting::aligned, nullptr, waitProducts, {0, 0, 0, 0}, true, 0, {}};
  wait.operands = {groups};
  for (uint32_t i = 0; i < given.ties.size(); ++i) {
    if (given.ties[i] == PtxOperands::kNone)
      return std::nullopt;
    wait.operands.insert(wait.operands.end(), {given.inputs + i, given.ties[i]});
  }
  return wait;
}

/// The slot of the number that decides predicate p: "setp.ne.b32 p, $10, 0".
uint32_t readPredicate(const Statement &statement, const PtxOperands &given) {
  const std::vector<std::string_view> words = {"setp", "ne", "b32"};
  if (statement.words != words || statement.operands.size() != 3 || statement.operands[0] != "p" || statement.operands[2] != "0")
    return kUnknown;
  return Reader(given).place(statement.operands[1]);
}
} // namespace

std::optional<Instruction> readWgmma(std::string_view text, const PtxOperands &given) {
  text = trim(text);
  if (text.starts_with("{") && text.ends_with("}"))
    text = trim(text.substr(1, text.size() - 2));
  std::vector<std::string_view> parts = split(text, ';');
  if (parts.empty() || !parts.back().empty())
    return std::nullopt;
  parts.pop_back();
  if (parts.size() == 3 && parts[0] == ".reg .pred p")
    return readProduct(readStatement(parts[2]), given, readPredicate(readStatement(parts[1]), given));
  if (parts.size() != 1)
    return std::nullopt;
  if (parts[0] == "wgmma.fence.sync.aligned" || parts[0] == "wgmma.commit_group.sync.aligned")
    return given.ties.empty() && !given.inputs ? findInstruction(parts[0]) : std::nullopt;
  const Statement statement = readStatement(parts[0]);
  const std::vector<std::string_view> wait = {"wgmma", "wait_group", "sync", "aligned"};
  return statement.words == wait ? readWait(statement, given) : std::nullopt;
}
} // namespace logitile::emulator

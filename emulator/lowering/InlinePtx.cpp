// InlinePtx.cpp - reads one statement of PTX: an opcode with its modifiers, and operands. A
// statement with any unknown word is refused, so no modifier is overlooked.
#include "emulator/lowering/InlinePtx.h"
#include "emulator/block/Access.h"
#include "emulator/core/Families.h"
#include "emulator/lowering/PtxText.h"
#include "emulator/instructions/InstructionTable.h"

namespace logitile::emulator {
namespace {
/// None where there is not exactly one statement.
std::optional<Statement> readOnly(std::string_view text) {
  text = trim(text);
  if (text.find(';') + 1 != text.size() || text.empty())
    return std::nullopt;
  return readStatement(trim(text.substr(0, text.size() - 1)));
}

/// PTX ISA, "cp.async": the size of a copy. With .cg, which keeps it out of L1, only 16 bytes are
/// possible.
std::optional<uint32_t> copyBytes(std::string_view operand, bool isCg) {
  const std::optional<uint32_t> bytes = readNumber(operand);
  const bool isPossible = bytes == 16 || (!isCg && (bytes == 4 || bytes == 8));
  return isPossible ? bytes : std::nullopt;
}

/// PTX ISA, "cp.async": cp.async.{ca,cg}.shared{::cta}.global{.L2::64B,.L2::128B,.L2::256B} [to],
/// [from], bytes{, bytes of the source}. The last modifier is a hint to prefetch and changes no
/// value.
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
/// PTX ISA, "bar{.cta}": bar{.cta}.{sync,arrive} barrier, threads. Without .aligned it is aligned
/// all the same.
std::optional<Instruction> readBarrier(Words words, const Statement &statement, uint32_t inputs) {
  words.take({"cta"});
  const std::string action(words.take());
  const std::vector<std::string_view> operands = {"$0", "$1"};
  if ((action != "sync" && action != "arrive") || !words.isEnd() || inputs != 2 || statement.operands != operands)
    return std::nullopt;
  return findInstruction("barrier.cta." + action + ".aligned.count");
}
/// PTX ISA, "mbarrier.arrive": mbarrier.arrive{.release.{cta,cluster}}.shared::cluster.b64 _, [at];
std::optional<Instruction> readRemoteArrival(Words words, const Statement &statement, uint32_t inputs) {
  if (words.take({"release"}) && !words.take({"cta", "cluster"}))
    return std::nullopt;
  const std::vector<std::string_view> operands = {"_", "[$0]"};
  if (!words.take({"shared::cluster"}) || !words.take({"b64"}) || !words.isEnd() || inputs != 1 || statement.operands != operands)
    return std::nullopt;
  return Instruction{Meeting::none, mbarrierArriveInCluster, nullptr, {}, true, 0, {}};
}
/// PTX ISA, "red": red{.relaxed}{.gpu}.global.add.{v2,v4}.f32 [to], {numbers}.
std::optional<Instruction> readVectorAdd(Words words, const Statement &statement, uint32_t inputs) {
  words.take({"relaxed"});
  words.take({"gpu"});
  if (!words.take({"global"}) || !words.take({"add"}))
    return std::nullopt;
  const uint32_t count = words.take({"v2"}) ? 2 : words.take({"v4"}) ? 4 : 0;
  const std::string_view numbers = count == 2 ? "{$1, $2}" : "{$1, $2, $3, $4}";
  const std::vector<std::string_view> operands = {"[$0]", numbers};
  if (!count || !words.take({"f32"}) || !words.isEnd() || inputs != count + 1 || statement.operands != operands)
    return std::nullopt;
  Instruction add{Meeting::none, addVector, nullptr, {}, true, 0, {count}};
  add.modifiers = {uint32_t(AccessKind::atomic), uint32_t(IrSpace::global), count * 4, MemoryOrder{Strength::device}.pack()};
  return add;
}
} // namespace

std::optional<Instruction> readPtx(std::string_view text, const PtxOperands &operands) {
  if (text.find("wgmma.") != text.npos)
    return readWgmma(text, operands);
  const std::optional<Statement> statement = readOnly(text);
  if (!statement || !operands.ties.empty())
    return std::nullopt;
  Words words(statement->words);
  if (words.take({"red"}))
    return readVectorAdd(words, *statement, operands.inputs);
  if (words.take({"mbarrier"}) && words.take({"arrive"}))
    return readRemoteArrival(words, *statement, operands.inputs);
  if (words.take({"bar"}))
    return readBarrier(words, *statement, operands.inputs);
  if (words.take({"cp"}) && words.take({"async"}))
    return readCopy(words, *statement, operands.inputs);
  return std::nullopt;
}
} // namespace logitile::emulator

// Instruction.cpp - the closed list of instructions that kernels may use. Anything that is not here is refused when a
// kernel is loaded, never skipped.
#include "emulator/Instruction.h"
#include "emulator/Families.h"
#include "emulator/Order.h"
#include <unordered_map>

namespace logitile::emulator {
namespace {
using Table = std::unordered_map<std::string, Instruction>;

template <typename... Modifiers> Instruction forThread(ThreadHandler handler, Modifiers... modifiers) {
  return {Meeting::none, handler, nullptr, {static_cast<uint32_t>(modifiers)...}, true, 0};
}
template <typename... Modifiers> Instruction forWarp(Meeting meeting, WarpHandler handler, Modifiers... modifiers) {
  return {meeting, nullptr, handler, {static_cast<uint32_t>(modifiers)...}, false, 0};
}

void addCopies(Table &table) {
  for (const char *cache : {"ca", "cg"})
    for (uint32_t bytes : {4, 8, 16}) {
      if (std::string_view(cache) == "cg" && bytes != 16)
        continue;
      const std::string name = std::string("cp.async.") + cache + ".shared.global." + std::to_string(bytes);
      table[name] = forThread(copyAsync, bytes, false);
      table[name + ".s"] = forThread(copyAsync, bytes, true);
    }
  table["cp.async.commit.group"] = forThread(commitCopies);
  table["cp.async.wait.group"] = forThread(waitCopyGroups);
  table["cp.async.wait.all"] = forThread(waitAllCopies);
}

void addBarriers(Table &table) {
  table["barrier.cta.sync.aligned.all"] = forThread(blockBarrier, BarrierCount::all, BarrierAction::sync, true);
  table["barrier.cta.sync.all"] = forThread(blockBarrier, BarrierCount::all, BarrierAction::sync, false);
  table["barrier.cta.sync.aligned.count"] = forThread(blockBarrier, BarrierCount::given, BarrierAction::sync, true);
  table["barrier.cta.sync.count"] = forThread(blockBarrier, BarrierCount::given, BarrierAction::sync, false);
  table["barrier.cta.arrive.aligned.count"] = forThread(blockBarrier, BarrierCount::given, BarrierAction::arrive, true);
  table["barrier.cta.arrive.count"] = forThread(blockBarrier, BarrierCount::given, BarrierAction::arrive, false);
  Instruction warp = forWarp(Meeting::masked, warpBarrier);
  warp.hasEffects = true;
  table["bar.warp.sync"] = warp;
}

void addFences(Table &table) {
  for (auto [name, strength] : {std::pair{"membar.cta", Strength::block}, {"membar.gl", Strength::device}, {"membar.sys", Strength::device}})
    table[name] = forThread(fence, 0, 0, 0, MemoryOrder{strength, true, true}.pack());
}

void addMbarriers(Table &table) {
  const std::string scope = ".scope.cta.space.cta";
  table["mbarrier.init.shared"] = forThread(mbarrierInit);
  table["mbarrier.inval.shared"] = forThread(mbarrierInvalidate);
  table["mbarrier.arrive.shared"] = forThread(mbarrierArrive, false, false);
  table["mbarrier.arrive" + scope] = forThread(mbarrierArrive, true, false);
  table["mbarrier.arrive.expect.tx" + scope] = forThread(mbarrierArrive, false, true);
  table["mbarrier.expect.tx" + scope] = forThread(mbarrierExpect);
  table["mbarrier.test.wait.shared"] = forThread(mbarrierWait, false, false);
  table["mbarrier.test.wait" + scope] = forThread(mbarrierWait, false, false);
  table["mbarrier.test.wait.parity" + scope] = forThread(mbarrierWait, false, true);
  table["mbarrier.try.wait" + scope] = forThread(mbarrierWait, true, false);
  table["mbarrier.try.wait.parity" + scope] = forThread(mbarrierWait, true, true);
  table["cp.async.mbarrier.arrive.shared"] = forThread(mbarrierArriveAfterCopies, true);
  table["cp.async.mbarrier.arrive.noinc.shared"] = forThread(mbarrierArriveAfterCopies, false);
}

void addShuffles(Table &table) {
  const std::pair<const char *, ShuffleMode> shuffles[] = {{"bfly", ShuffleMode::butterfly},
                                                           {"up", ShuffleMode::up},
                                                           {"down", ShuffleMode::down},
                                                           {"idx", ShuffleMode::index}};
  for (auto [name, mode] : shuffles)
    for (const char *type : {"i32", "f32", "i32p", "f32p"})
      table[std::string("shfl.sync.") + name + "." + type] = forWarp(Meeting::masked, shuffle, mode);
  const std::pair<const char *, VoteMode> votes[] = {{"any", VoteMode::any},
                                                     {"all", VoteMode::all},
                                                     {"uni", VoteMode::uniform},
                                                     {"ballot", VoteMode::ballot}};
  for (auto [name, mode] : votes)
    table[std::string("vote.") + name + ".sync"] = forWarp(Meeting::masked, vote, mode);
  table["elect.sync"] = forWarp(Meeting::masked, elect);
  const std::pair<const char *, ReduceMode> reductions[] = {{"add", ReduceMode::add},
                                                            {"min", ReduceMode::smallest},
                                                            {"max", ReduceMode::largest},
                                                            {"umin", ReduceMode::unsignedSmallest},
                                                            {"umax", ReduceMode::unsignedLargest},
                                                            {"and", ReduceMode::bitAnd},
                                                            {"or", ReduceMode::bitOr},
                                                            {"xor", ReduceMode::bitXor}};
  for (auto [name, mode] : reductions) {
    Instruction reduction = forWarp(Meeting::masked, reduceWarp, mode);
    reduction.maskSlot = 1;
    table[std::string("redux.sync.") + name] = reduction;
  }
}

void addMatrices(Table &table) {
  table["mma.m16n8k8.row.col.bf16"] = forWarp(Meeting::aligned, multiplyMatrices<Element::bf16, 8>);
  table["mma.m16n8k16.row.col.bf16"] = forWarp(Meeting::aligned, multiplyMatrices<Element::bf16, 16>);
  table["mma.m16n8k8.row.col.f32.f32"] = forWarp(Meeting::aligned, multiplyMatrices<Element::f16, 8>);
  table["mma.m16n8k16.row.col.f32.f32"] = forWarp(Meeting::aligned, multiplyMatrices<Element::f16, 16>);
  for (uint32_t count : {1, 2, 4})
    for (bool isTransposed : {false, true}) {
      const std::string name = ".sync.aligned.m8n8.x" + std::to_string(count) + (isTransposed ? ".trans" : "") + ".b16.p3";
      table["ldmatrix" + name] = forWarp(Meeting::aligned, loadMatrices, count, isTransposed);
      Instruction store = forWarp(Meeting::aligned, storeMatrices, count, isTransposed);
      store.hasEffects = true;
      table["stmatrix" + name] = store;
    }
}

void addArithmetic(Table &table) {
  for (bool flushes : {false, true}) {
    const std::string ftz = flushes ? ".ftz" : "";
    table["ex2.approx" + ftz + ".f32"] = forThread(approximate, Function::exp2, flushes);
    table["lg2.approx" + ftz + ".f"] = forThread(approximate, Function::log2, flushes);
    table["rsqrt.approx" + ftz + ".f"] = forThread(approximate, Function::reciprocalRoot, flushes);
    table["sqrt.approx" + ftz + ".f"] = forThread(approximate, Function::root, flushes);
    table["div.approx" + ftz + ".f"] = forThread(divide, flushes);
    table["div.full" + ftz] = forThread(divide, flushes);
  }
  table["rcp.approx.ftz.f"] = forThread(approximate, Function::reciprocal, true);
  table["ff2bf16x2.rn"] = forThread(packPair, Element::bf16);
  table["ff2f16x2.rn"] = forThread(packPair, Element::f16);
  table["f2bf16.rn"] = forThread(roundToHalf, Element::bf16);
  for (auto &[name, instruction] : table)
    if (instruction.thread == approximate || instruction.thread == divide || instruction.thread == packPair ||
        instruction.thread == roundToHalf)
      instruction.hasEffects = false;
}

Table makeTable() {
  Table table;
  addArithmetic(table);
  addCopies(table);
  addBarriers(table);
  addFences(table);
  addMbarriers(table);
  addShuffles(table);
  addMatrices(table);
  return table;
}
} // namespace

std::optional<Instruction> findInstruction(std::string_view name) {
  static const Table table = makeTable();
  auto found = table.find(std::string(name));
  if (found == table.end())
    return std::nullopt;
  return found->second;
}
} // namespace logitile::emulator

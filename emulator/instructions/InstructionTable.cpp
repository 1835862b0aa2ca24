// InstructionTable.cpp - the closed list of instructions that kernels may use. Anything that is not
// here is refused when a kernel is loaded, never skipped.
#include "emulator/instructions/InstructionTable.h"
#include "emulator/core/Families.h"
#include "emulator/block/Order.h"
#include <unordered_map>

namespace logitile::emulator {
namespace {
using Table = std::unordered_map<std::string, Instruction>;

template <typename... Modifiers> Instruction forThread(ThreadHandler handler, Modifiers... modifiers) {
  return {Meeting::none, handler, nullptr, {static_cast<uint32_t>(modifiers)...}, true, 0, {}};
}
template <typename... Modifiers> Instruction forWarp(Meeting meeting, WarpHandler handler, Modifiers... modifiers) {
  return {meeting, nullptr, handler, {static_cast<uint32_t>(modifiers)...}, false, 0, {}};
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
  for (auto [name, vote] : {std::pair{"popc", BarrierVote::count}, {"and", BarrierVote::all}, {"or", BarrierVote::any}})
    for (bool isAligned : {false, true})
      for (auto [ending, count] : {std::pair{"all", BarrierCount::all}, {"count", BarrierCount::given}}) {
        Instruction reduction = forThread(blockBarrier, count, BarrierAction::sync, isAligned);
        reduction.operands = {static_cast<uint32_t>(vote)};
        table[std::string("barrier.cta.red.") + name + (isAligned ? ".aligned." : ".") + ending] = reduction;
      }
  Instruction warp = forWarp(Meeting::masked, warpBarrier);
  warp.hasEffects = true;
  table["bar.warp.sync"] = warp;
}

void addFences(Table &table) {
  for (auto [name, strength] : {std::pair{"membar.cta", Strength::block}, {"membar.gl", Strength::device}, {"membar.sys", Strength::device}})
    table[name] = forThread(fence, 0, 0, 0, MemoryOrder{strength, true, true}.pack());
}

/// Hints, and what holds here anyway: launches run one after another.
void doNothing(Thread &, const Op &, Slot *) {}

void addProxies(Table &table) {
  for (const char *space : {"", ".global", ".shared_cta", ".shared_cluster"})
    table[std::string("fence.proxy.async") + space] = forThread(fenceProxies);
  table["fence.mbarrier_init.release.cluster"] = forThread(fenceMbarriers);
}

void addLaunches(Table &table) {
  table["nanosleep"] = forThread(doNothing);
  for (auto [name, space] : {std::pair{"shared", Space::shared}, {"global", Space::global}, {"local", Space::none}})
    table[std::string("isspacep.") + name] = forThread(isInSpace, space);
  table["griddepcontrol.wait"] = forThread(doNothing);
  table["griddepcontrol.launch.dependents"] = forThread(doNothing);
  for (bool takes : {false, true}) {
    Instruction registers = forWarp(Meeting::aligned, setMostRegisters, takes);
    registers.hasEffects = true;
    table[std::string("setmaxnreg.") + (takes ? "inc" : "dec") + ".sync.aligned.u32"] = registers;
  }
}

void addBulkCopies(Table &table) {
  const MemoryOrder relaxed{Strength::device};
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    const std::string tile = ".tile." + std::to_string(rank) + "d", tensor = "cp.async.bulk.tensor.";
    table[tensor + "g2s" + tile] = forThread(loadTensor, rank, true);
    table[tensor + "g2s.cta" + tile] = forThread(loadTensor, rank, false);
    table[tensor + "s2g" + tile] = forThread(storeTensor, rank, false);
    table[tensor + "reduce.add" + tile] = forThread(storeTensor, rank, true, 0, relaxed.pack());
    table[tensor + "prefetch" + tile] = forThread(doNothing);
  }
  table["cp.async.bulk.global.to.shared.cluster"] = forThread(loadBytes, true);
  table["cp.async.bulk.global.to.shared.cta"] = forThread(loadBytes, false);
  table["cp.async.bulk.shared.cta.to.global"] = forThread(storeBytes);
  table["cp.async.bulk.prefetch.L2"] = forThread(doNothing);
  for (const char *space : {"p0", "p4", "p101"}) // generic memory, constants, parameters
    table[std::string("prefetch.tensormap.") + space] = forThread(doNothing);
  table["cp.async.bulk.commit.group"] = forThread(commitBulk);
  table["cp.async.bulk.wait.group"] = forThread(waitBulk, false);
  table["cp.async.bulk.wait.group.read"] = forThread(waitBulk, true);
}

void addClusters(Table &table) {
  for (const char *aligned : {"", ".aligned"}) {
    table[std::string("barrier.cluster.arrive") + aligned] = forThread(clusterArrive, false);
    table[std::string("barrier.cluster.arrive.relaxed") + aligned] = forThread(clusterArrive, true);
    table[std::string("barrier.cluster.wait") + aligned] = forThread(clusterWait);
  }
  table["mapa.shared.cluster"] = forThread(mapShared);
}

void addArrivals(Table &table, const std::string &drop, ArrivalEffect effect) {
  const uint32_t noComplete = uint32_t(effect) | uint32_t(ArrivalEffect::noComplete);
  for (const char *space : {"", ".shared"}) {
    table["mbarrier.arrive" + drop + space] = forThread(mbarrierArrive, ArrivalOperand::none, effect);
    table["mbarrier.arrive" + drop + ".noComplete" + space] = forThread(mbarrierArrive, ArrivalOperand::count, noComplete);
  }
  for (bool isRelaxed : {false, true})
    for (const char *scope : {"cta", "cluster"}) {
      const std::string order = std::string(isRelaxed ? ".relaxed" : "") + ".scope." + scope + ".space.cta";
      table["mbarrier.arrive" + drop + order] = forThread(mbarrierArrive, ArrivalOperand::count, effect, isRelaxed);
      table["mbarrier.arrive" + drop + ".expect.tx" + order] = forThread(mbarrierArrive, ArrivalOperand::bytes, effect, isRelaxed);
    }
}

void addWaits(Table &table) {
  for (bool isRelaxed : {false, true})
    for (const char *scope : {"cta", "cluster"})
      for (bool isParity : {false, true}) {
        const std::string what = isParity ? ".parity" : "",
                          order = std::string(isRelaxed ? ".relaxed" : "") + ".scope." + scope + ".space.cta";
        table["mbarrier.test.wait" + what + order] = forThread(mbarrierWait, WaitKind::test, isParity, isRelaxed);
        table["mbarrier.try.wait" + what + order] = forThread(mbarrierWait, WaitKind::attempt, isParity, isRelaxed);
        table["mbarrier.try.wait" + what + ".tl" + order] = forThread(mbarrierWait, WaitKind::attemptForTime, isParity, isRelaxed);
      }
  for (const char *space : {"", ".shared"})
    table[std::string("mbarrier.test.wait") + space] = forThread(mbarrierWait, WaitKind::test, false, false);
}

void addMbarriers(Table &table) {
  for (const std::string space : {"", ".shared"}) {
    table["mbarrier.init" + space] = forThread(mbarrierInit);
    table["mbarrier.inval" + space] = forThread(mbarrierInvalidate);
    table["cp.async.mbarrier.arrive" + space] = forThread(mbarrierArriveAfterCopies, true);
    table["cp.async.mbarrier.arrive.noinc" + space] = forThread(mbarrierArriveAfterCopies, false);
  }
  for (const std::string scope : {"cta", "cluster"}) {
    table["mbarrier.expect.tx.scope." + scope + ".space.cta"] = forThread(mbarrierExpect);
    table["mbarrier.complete.tx.scope." + scope + ".space.cta"] = forThread(mbarrierComplete);
  }
  addArrivals(table, "", ArrivalEffect::plain);
  addArrivals(table, ".drop", ArrivalEffect::drop);
  addWaits(table);
  table["mbarrier.pending.count"] = forThread(mbarrierPendingCount);
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
  for (bool isWide : {false, true}) {
    const std::string type = isWide ? "i64" : "i32";
    table["match.any.sync." + type] = forWarp(Meeting::masked, matchAny, isWide);
    table["match.all.sync." + type + "p"] = forWarp(Meeting::masked, matchAll, isWide);
  }
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

void addProducts(Table &table) {
  const std::pair<const char *, WarpHandler> handlers[] = {
      {"fence", fenceProducts}, {"commit_group", commitProducts}, {"wait_group", waitProducts}};
  for (auto [name, handler] : handlers) {
    Instruction instruction = forWarp(Meeting::aligned, handler);
    instruction.hasEffects = true;
    instruction.operands = {0}; // of a wait, the count of groups
    table[std::string("wgmma.") + name + ".sync.aligned"] = instruction;
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
  table["prmt"] = forThread(permuteBytes);
  table["rcp.approx.ftz.f"] = forThread(approximate, Function::reciprocal, true);
  table["ff2bf16x2.rn"] = forThread(packPair, Element::bf16);
  table["ff2f16x2.rn"] = forThread(packPair, Element::f16);
  table["f2bf16.rn"] = forThread(roundToHalf, Element::bf16);
  for (auto &[name, instruction] : table)
    if (instruction.thread == approximate || instruction.thread == divide || instruction.thread == packPair ||
        instruction.thread == roundToHalf || instruction.thread == permuteBytes)
      instruction.hasEffects = false;
}

Table makeTable() {
  Table table;
  addArithmetic(table);
  addCopies(table);
  addBarriers(table);
  addFences(table);
  addBulkCopies(table);
  addProxies(table);
  addClusters(table);
  addMbarriers(table);
  addLaunches(table);
  addShuffles(table);
  addMatrices(table);
  addProducts(table);
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

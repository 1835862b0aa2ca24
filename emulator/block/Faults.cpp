// Faults.cpp - reports of faults in a block, with all threads involved. Other files detect the
// faults.
#include "emulator/block/Cluster.h"
#include <algorithm>

namespace logitile::emulator {
namespace {
constexpr uint32_t kNoOp = ~0u;

std::string lanesText(uint32_t lanes) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", lanes);
  return text;
}
} // namespace

Party Block::party(uint32_t actor, uint32_t op, std::string action) const {
  const Op &at = launch.ops[op];
  return {actors.nameOf(actor), std::move(action), at.name, at.source};
}

Report Block::describe(Fault fault, const Thread &thread, const Op &op, std::string action, std::string detail) const {
  Report report;
  report.fault = fault;
  report.block = index;
  report.parties.push_back(party(thread.linear, op.index, std::move(action)));
  report.detail = std::move(detail);
  return report;
}

void Block::fail(Report report) {
  launch.findings.add(std::move(report), kNoOp, kNoOp);
  wasFaulty = true;
  cluster.leave();
}

static const char *verb(AccessKind kind) {
  return kind == AccessKind::read ? "read" : kind == AccessKind::write ? "write" : "atomic operation";
}

/// What an engine may still be doing; "" where it is done.
std::string_view Block::pendingText(const Earlier &earlier) const {
  const Knowledge &knowledge = threads[actors.threadOf(earlier.actor)].knowledge;
  const Engine engine = actors.engineOf(earlier.actor);
  const bool isLanding = engine == Engine::landing && std::ranges::any_of(loads, [&](const BulkLoad &load) {
                           return load.engine == earlier.actor && load.time == earlier.time;
                         });
  if (isLanding)
    return earlier.kind == AccessKind::read ? "the bulk copy may not have read its source; wait for its mbarrier first"
                                            : "the bulk copy may not have landed; wait for its mbarrier first";
  if (engine == Engine::products && earlier.time > knowledge.products)
    return "the wgmma may not have read its operands; wait for its group first";
  if (engine == Engine::bulkReads && earlier.time > knowledge.bulkReads)
    return "the bulk copy may not have read its source; wait for its group first";
  if (engine == Engine::bulkWrites && earlier.time > knowledge.bulkWrites)
    return "the bulk copy may not have written; wait for its group first";
  if (engine != Engine::copy || earlier.time <= knowledge.copies)
    return {};
  return earlier.kind == AccessKind::read ? "the copy may not have read its source; wait for its group first"
                                          : "the copy may not have landed; wait for its group first";
}

Party Block::laterParty(const Access &access, std::string action) const {
  Party later = party(access.actor, access.op.index, std::move(action));
  if (access.thread.block != this)
    later.who += " of block " + std::to_string(launch.global.linearIndexOf(access.thread.block->id));
  return later;
}

void Block::reportProxyFence(const Access &access, const Touched &touched, const Earlier &earlier) {
  if (launch.findings.isKnown(Fault::proxyFence, access.op.index, earlier.op))
    return;
  Report report;
  report.fault = Fault::proxyFence;
  report.space = touched.space;
  report.address = touched.address;
  report.object = touched.object;
  report.block = index;
  report.detail = "no fence.proxy.async stands between the write and the access of the asynchronous proxy";
  report.parties = {party(earlier.actor, earlier.op, std::string("earlier ") + verb(earlier.kind)),
                    laterParty(access, std::string("later ") + verb(access.kind))};
  launch.findings.add(std::move(report), access.op.index, earlier.op);
}

void Block::reportRace(const Access &access, const Touched &touched, const Earlier &earlier) {
  const bool isHere = !earlier.block || earlier.block == id;
  const std::string_view pending = isHere ? pendingText(earlier) : std::string_view();
  const Fault fault = pending.empty() ? Fault::race : Fault::inFlight;
  if (launch.findings.isKnown(fault, access.op.index, earlier.op))
    return;
  Report report;
  report.fault = fault;
  report.space = touched.space;
  report.address = touched.address;
  report.object = touched.object;
  report.block = index;
  report.detail = pending.empty() ? "no barrier orders the two accesses" : pending;
  Party before = party(earlier.actor, earlier.op, std::string("earlier ") + verb(earlier.kind));
  if (!isHere)
    before.who += " of block " + std::to_string(launch.global.linearIndexOf(earlier.block));
  report.parties = {std::move(before), laterParty(access, std::string("later ") + verb(access.kind))};
  launch.findings.add(std::move(report), access.op.index, earlier.op);
}

void Block::reportUninitialised(const Access &access, const Touched &touched) {
  if (launch.findings.isKnown(Fault::uninitialised, access.op.index, kNoOp))
    return;
  Report report = describe(Fault::uninitialised, access.thread, access.op, "read", "these bytes were never written");
  report.space = touched.space;
  report.address = touched.address;
  report.object = touched.object;
  launch.findings.add(std::move(report), access.op.index, kNoOp);
}

void Block::checkEnd(Thread &thread) {
  for (const Gathered &meeting : warpOf(thread).meetings) {
    if (!(meeting.mask >> thread.lane & 1))
      continue;
    const Op &op = *meeting.place->members.front().op;
    const uint32_t waiting = thread.warpIndex * 32 + std::countr_zero(meeting.arrived);
    fail(describe(Fault::divergence, threads[waiting], op, "waits",
                  "lane " + std::to_string(thread.lane) + " has ended; lanes " + lanesText(meeting.mask) + " must all take part"));
  }
  for (NamedBarrier &barrier : barriers)
    if (barrier.isForAll && barrier.arrived)
      leaveBarrier(thread, barrier);
  if (!warpOf(thread).live)
    checkWarpgroup(thread);
  if (!live)
    checkLoads();
}

/// A copy that has landed already may be under way on a GPU: nobody knows who has not waited for
/// it.
void Block::checkLoads() {
  const char *what = "the block ends before the copy is known to have landed; wait for its mbarrier first";
  if (!loads.empty())
    fail(describe(Fault::misuse, *loads.front().thread, *loads.front().op, "copies", what));
  for (const auto &[offset, mbarrier] : mbarriers) {
    const Mbarrier::Landed &landed = mbarrier.landed;
    auto isKnownTo = [&](const Thread &thread) { return knows(thread, landed.engine, landed.time); };
    if (landed.op && std::none_of(threads.begin(), threads.begin() + actors.threads, isKnownTo))
      fail(describe(Fault::misuse, *landed.thread, *landed.op, "copies", what));
  }
}

void Block::checkWarpgroup(const Thread &thread) {
  const uint32_t first = thread.warpIndex / 4 * 4, mine = thread.warpIndex;
  const Warpgroup &group = warpgroups[first / 4];
  for (uint32_t other = first; other < std::min<size_t>(first + 4, warps.size()); ++other) {
    if (warps[other].live || group.issued[other - first] == group.issued[mine - first])
      continue;
    const bool hasMore = group.issued[other - first] > group.issued[mine - first];
    const Op &op = *group.products.back().op; // which the one with fewer has not come to
    fail(describe(Fault::divergence, threads[32 * (hasMore ? other : mine)], op, "runs",
                  "warp " + std::to_string(hasMore ? mine : other) + " of its warpgroup has ended without it"));
  }
}

void Block::leaveBarrier(const Thread &thread, NamedBarrier &barrier) {
  for (uint32_t waiting : barrier.waiting)
    if (threads[waiting].warpIndex == thread.warpIndex)
      fail(describe(Fault::barrierDivergence, threads[waiting], *threads[waiting].waiting.op, "waits",
                    "lane " + std::to_string(thread.lane) + " of its warp has ended without coming to this barrier of the whole block"));
  barrier.expected = live;
  if (barrier.arrived == live)
    completeBarrier(*this, barrier);
}

std::vector<Party> Block::waitingParties() const {
  std::vector<Party> parties;
  for (const Warp &warp : warps) {
    std::map<const Op *, uint32_t> places;
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (warp.live >> lane & 1)
        if (const Op *op = threads[warp.index * 32 + lane].waiting.op)
          places[op] |= 1u << lane;
    for (auto [op, lanes] : places) {
      const Waiting &waiting = threads[warp.index * 32 + std::countr_zero(lanes)].waiting;
      parties.push_back({"warp " + std::to_string(warp.index) + " lanes " + lanesText(lanes), "waits for " + std::string(waiting.what),
                         op->name, op->source});
    }
  }
  return parties;
}

void Block::reportEndless() {
  Report report;
  report.fault = Fault::endless;
  report.block = index;
  report.parties = waitingParties();
  report.detail = "loops have made " + std::to_string(loopTurns) +
                  " turns without any other progress; a write of a later block cannot arrive, because blocks run one after another";
  launch.findings.add(std::move(report), kNoOp, kNoOp);
  wasFaulty = true;
}

void Block::reportDeadlock() {
  Report report;
  report.fault = Fault::deadlock;
  report.block = index;
  report.detail = "no thread can go on";
  report.parties = waitingParties();
  for (uint32_t i = 0; i < barriers.size(); ++i)
    if (barriers[i].arrived)
      report.detail += "; barrier " + std::to_string(i) + " has " + std::to_string(barriers[i].arrived) + " of " +
                       std::to_string(barriers[i].expected) + " threads";
  for (const auto &[offset, mbarrier] : mbarriers)
    if (!mbarrier.waiters.empty())
      report.detail += "; mbarrier at shared memory +" + std::to_string(offset) + " in phase " + std::to_string(mbarrier.phase) +
                       " lacks " + std::to_string(mbarrier.pending) + " arrivals and " + std::to_string(mbarrier.bytes) + " bytes";
  launch.findings.add(std::move(report), kNoOp, kNoOp);
  wasFaulty = true;
}
} // namespace logitile::emulator

// Shuffles.cpp - values that go from lane to lane: shfl, vote, elect and redux. None of them orders
// memory.
#include "emulator/block/Block.h"
#include "emulator/core/Families.h"
#include <algorithm>

namespace logitile::emulator {
namespace {
template <typename Body> void forLanes(uint32_t mask, Body body) {
  for (uint32_t left = mask; left; left &= left - 1)
    body(static_cast<uint32_t>(std::countr_zero(left)));
}

struct ShuffleSource {
  uint32_t lane;
  bool isInside; // of the segment; otherwise a lane keeps its own value
};

/// PTX ISA, shfl.sync: the low five bits of the last operand clamp, bits 8 to 12 cut the warp into
/// segments.
ShuffleSource shuffleSource(ShuffleMode mode, uint32_t lane, uint32_t offset, uint32_t control) {
  const uint32_t clamp = control & 31, segment = control >> 8 & 31;
  const uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  const int64_t step = offset & 31;
  int64_t source = lane;
  switch (mode) {
  case ShuffleMode::butterfly:
    source = lane ^ step;
    break;
  case ShuffleMode::up:
    source = lane - step;
    break;
  case ShuffleMode::down:
    source = lane + step;
    break;
  case ShuffleMode::index:
    source = first | (step & ~segment);
    break;
  }
  const bool isInside = mode == ShuffleMode::up ? source >= static_cast<int64_t>(last) : source <= static_cast<int64_t>(last);
  return {isInside ? static_cast<uint32_t>(source) : lane, isInside};
}

uint32_t combine(ReduceMode mode, uint32_t one, uint32_t other) {
  const auto left = static_cast<int32_t>(one), right = static_cast<int32_t>(other);
  switch (mode) {
  case ReduceMode::add:
    return one + other;
  case ReduceMode::smallest:
    return static_cast<uint32_t>(std::min(left, right));
  case ReduceMode::largest:
    return static_cast<uint32_t>(std::max(left, right));
  case ReduceMode::unsignedSmallest:
    return std::min(one, other);
  case ReduceMode::unsignedLargest:
    return std::max(one, other);
  case ReduceMode::bitAnd:
    return one & other;
  case ReduceMode::bitOr:
    return one | other;
  case ReduceMode::bitXor:
    return one ^ other;
  }
  return 0;
}
} // namespace

void shuffle(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  std::array<uint32_t, 32> values = {};
  forLanes(mask, [&](uint32_t lane) { values[lane] = get<uint32_t>(frames[lane], 1); });
  const auto mode = static_cast<ShuffleMode>(op.instruction.modifiers[0]);
  forLanes(mask, [&](uint32_t lane) {
    const ShuffleSource source = shuffleSource(mode, lane, get<uint32_t>(frames[lane], 2), get<uint32_t>(frames[lane], 3));
    if (!(mask >> source.lane & 1))
      warp.block->fail(warp.block->describe(Fault::divergence, warp.block->threads[warp.index * 32 + lane], op, "reads",
                                            "lane " + std::to_string(source.lane) + " does not take part, so its value is undefined"));
    set<uint32_t>(frames[lane], 4, values[source.lane]);
    set<uint8_t>(frames[lane], 5, source.isInside);
  });
}

void vote(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  uint32_t ballot = 0;
  forLanes(mask, [&](uint32_t lane) { ballot |= static_cast<uint32_t>(get<uint8_t>(frames[lane], 1) & 1) << lane; });
  uint32_t result = ballot;
  switch (static_cast<VoteMode>(op.instruction.modifiers[0])) {
  case VoteMode::any:
    result = ballot != 0;
    break;
  case VoteMode::all:
    result = ballot == mask;
    break;
  case VoteMode::uniform:
    result = ballot == 0 || ballot == mask;
    break;
  case VoteMode::ballot:
    break;
  }
  forLanes(mask, [&](uint32_t lane) { set<uint32_t>(frames[lane], 2, result); });
}

void matchAny(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  const bool isWide = op.instruction.modifiers[0];
  auto valueOf = [&](uint32_t lane) { return isWide ? get<uint64_t>(frames[lane], 1) : get<uint32_t>(frames[lane], 1); };
  forLanes(mask, [&](uint32_t lane) {
    uint32_t same = 0;
    forLanes(mask, [&](uint32_t other) { same |= uint32_t{valueOf(other) == valueOf(lane)} << other; });
    set<uint32_t>(frames[lane], 2, same);
  });
}

void matchAll(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  matchAny(warp, op, frames, mask);
  const bool areSame = get<uint32_t>(frames[std::countr_zero(mask)], 2) == mask;
  forLanes(mask, [&](uint32_t lane) {
    set<uint32_t>(frames[lane], 2, areSame ? mask : 0);
    set<uint8_t>(frames[lane], 3, areSame);
  });
}

void elect(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  const uint32_t leader = std::countr_zero(mask);
  forLanes(mask, [&](uint32_t lane) {
    set<uint32_t>(frames[lane], 1, leader);
    set<uint8_t>(frames[lane], 2, lane == leader);
  });
}

void reduceWarp(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  const auto mode = static_cast<ReduceMode>(op.instruction.modifiers[0]);
  uint32_t result = get<uint32_t>(frames[std::countr_zero(mask)], 0);
  forLanes(mask & (mask - 1), [&](uint32_t lane) { result = combine(mode, result, get<uint32_t>(frames[lane], 0)); });
  forLanes(mask, [&](uint32_t lane) { set<uint32_t>(frames[lane], 2, result); });
}
} // namespace logitile::emulator

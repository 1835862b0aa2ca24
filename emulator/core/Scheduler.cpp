// Scheduler.cpp - order of threads. Staying in a warp keeps the caches warm; other orders find what
// depends on order.
#include "emulator/core/Scheduler.h"

namespace logitile::emulator {
namespace {
uint32_t pick(uint32_t mask, uint32_t skip) {
  while (skip--)
    mask &= mask - 1;
  return std::countr_zero(mask);
}
/// The lowest bit above 'bit', or the lowest of all.
uint32_t after(uint32_t mask, uint32_t bit) {
  const uint32_t above = bit < 31 ? mask & (~0u << (bit + 1)) : 0;
  return std::countr_zero(above ? above : mask);
}
} // namespace

void Scheduler::reset(uint32_t count, uint64_t seed) {
  ready.assign(count, 0);
  warps = 0;
  isRandom = seed != 0;
  state = seed * 0x9e3779b97f4a7c15u | 1;
}

void Scheduler::add(uint32_t warp, uint32_t lanes) {
  if (!lanes)
    return;
  ready[warp] |= lanes;
  warps |= 1u << warp;
}

uint32_t Scheduler::random(uint32_t bound) {
  if (!isRandom)
    return 0;
  state ^= state << 13; // xorshift
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<uint32_t>(state >> 32) % bound;
}

std::optional<uint32_t> Scheduler::take(uint32_t current) {
  if (!warps)
    return std::nullopt;
  uint32_t warp = current / 32, lane = 0;
  if (isRandom) {
    warp = pick(warps, random(std::popcount(warps)));
    lane = pick(ready[warp], random(std::popcount(ready[warp])));
  } else if (ready[warp]) {
    lane = after(ready[warp], current % 32);
  } else {
    warp = after(warps, warp);
    lane = std::countr_zero(ready[warp]);
  }
  ready[warp] &= ~(1u << lane);
  if (!ready[warp])
    warps &= ~(1u << warp);
  return warp * 32 + lane;
}
} // namespace logitile::emulator

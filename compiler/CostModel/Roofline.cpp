// Roofline.cpp - the rates, from measurements of the microkernels (bench/peak) on one class of machine per tier.
#include "compiler/CostModel/Roofline.h"
using namespace logitile;

Roofline logitile::getRoofline(const Target &target, int64_t threads) {
  // One core of a server CPU at about 3.7 GHz: two 128-bit multiply-adds a cycle on the portable tier, one or two wide
  // ones above; a core reads memory at some 20 GB/s when all of them do.
  constexpr double kFlops[] = {25e9, 59e9, 117e9, 117e9};
  Roofline roofline;
  if (target.kind == DeviceKind::Cpu) {
    roofline.flops = kFlops[static_cast<int>(target.tier)] * threads;
    roofline.speedOf16Bit = getTierInfo(target.tier).hasBf16Dot ? 2 : 1;
    roofline.bandwidth = 20e9 * threads;
    return roofline;
  }
  roofline.flops = 788e12 / 6; // f32 as products of three bf16 planes
  roofline.speedOf16Bit = 6;
  roofline.bandwidth = 4.3e12;
  return roofline;
}

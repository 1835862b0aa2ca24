// Products.cpp - marks in place of sums, and the layouts of operands in shared memory.
#include "emulator/block/Products.h"

namespace logitile::emulator {
Sums *Products::find(uint32_t bits) const {
  const Sums::Mark mark = Sums::markOf(bits);
  if (mark.slot >= slots.size() || slots[mark.slot]->version != mark.version)
    return nullptr;
  return slots[mark.slot].get();
}

uint32_t Products::takeSlot() {
  if (slots.size() < Sums::kSlots) {
    slots.push_back(std::make_unique<Sums>());
    return static_cast<uint32_t>(slots.size()) - 1;
  }
  for (uint32_t tries = 0; tries < Sums::kSlots; ++tries) {
    const uint32_t slot = next++ % Sums::kSlots;
    if (!slots[slot]->pending)
      return slot;
  }
  return Sums::kSlots; // all are pending
}

namespace {
uint32_t field(uint64_t descriptor, uint32_t bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4; }
} // namespace

MatrixLayout::MatrixLayout(uint64_t descriptor, bool isTransposed)
    : start(field(descriptor, 0)), leading(field(descriptor, 16)), stride(field(descriptor, 32)), base(descriptor >> 49 & 7),
      isTransposed(isTransposed) {
  constexpr uint32_t kSpans[] = {16, 128, 64, 32}; // 16: not swizzled
  span = kSpans[descriptor >> 62];
}

uint32_t MatrixLayout::chunk(uint32_t row, uint32_t k) const {
  constexpr uint32_t elementBytes = 2, perChunk = 16 / elementBytes;
  const uint32_t perSpan = span / elementBytes;
  const bool isSwizzled = span > 16;
  uint32_t offset = start;
  if (!isTransposed)
    offset += row % 8 * span + row / 8 * stride + (isSwizzled ? k * elementBytes : k / perChunk * leading);
  else if (isSwizzled)
    offset += row % perSpan * elementBytes + row / perSpan * leading + k % 8 * span + k / 8 * stride;
  else
    offset += row / perChunk * stride + k % 8 * 16 + k / 8 * leading;
  return offset ^ (offset >> 7 & (span / 16 - 1)) << 4; // PTX ISA, "Swizzling modes": bits of the address in shared memory
}
} // namespace logitile::emulator

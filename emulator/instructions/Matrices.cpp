// Matrices.cpp - mma.sync, ldmatrix and stmatrix: fragments as the PTX ISA lays them out over the
// lanes of a warp. Sums are f32 in the order of K; tensor cores truncate differently, so results
// agree within a tolerance only.
#include "emulator/block/Access.h"
#include "emulator/core/Families.h"
#include "emulator/core/Numbers.h"

namespace logitile::emulator {
namespace {
constexpr uint32_t kRows = 16, kColumns = 8, kMostK = 16;
constexpr uint32_t kRowBytes = 16; // of an 8x8 matrix of 16-bit elements

struct Operands {
  alignas(32) float a[kRows][kMostK];
  alignas(32) float b[kMostK][kColumns];
  alignas(32) float sums[kRows][kColumns];
};

template <Element type> float element(uint32_t pair, uint32_t half) {
  const auto bits = static_cast<uint16_t>(pair >> 16 * half);
  return type == Element::bf16 ? fromBf16(bits) : fromF16(bits);
}

/// PTX ISA, "Matrix fragments for mma.m16n8k16": lane 4 g + q has rows g and g + 8, and columns 2 q
/// and 2 q + 1 of each 8.
template <Element type, uint32_t k> void readFragments(Operands &operands, uint32_t lane, const Slot *frame) {
  constexpr uint32_t registersA = k / 4, registersB = k / 8;
  const uint32_t g = lane / 4, q = lane % 4;
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t i = 0; i < registersA; ++i)
      operands.a[g + 8 * (i % 2)][2 * q + half + 8 * (i / 2)] = element<type>(get<uint32_t>(frame, i), half);
    for (uint32_t i = 0; i < registersB; ++i)
      operands.b[2 * q + half + 8 * i][g] = element<type>(get<uint32_t>(frame, registersA + i), half);
    for (uint32_t i = 0; i < 2; ++i)
      operands.sums[g + 8 * i][2 * q + half] = get<float>(frame, registersA + registersB + 2 * i + half);
  }
}

template <uint32_t k> void multiply(Operands &operands) {
  for (uint32_t row = 0; row < kRows; ++row) {
    float sums[kColumns];
    std::memcpy(sums, operands.sums[row], sizeof sums);
    for (uint32_t i = 0; i < k; ++i)
      for (uint32_t column = 0; column < kColumns; ++column)
        sums[column] += operands.a[row][i] * operands.b[i][column]; // products of 16-bit numbers are exact
    std::memcpy(operands.sums[row], sums, sizeof sums);
  }
}

/// The address that a lane gives for one row of one matrix, checked.
uint8_t *rowAddress(Warp &warp, const Op &op, Slot *const *frames, uint32_t lane, AccessKind kind) {
  Thread &thread = warp.block->threads[warp.index * 32 + lane];
  auto *address = get<uint8_t *>(frames[lane], 0);
  requireAligned(thread, op, Space::shared, address, kRowBytes);
  touchShared({thread, thread.linear, op, kind}, address, kRowBytes);
  return address;
}

void countRows(Block &block, const std::array<uint8_t *, 8> &rows, AccessKind kind) {
  Traffic::Request request{0xff, kRowBytes, {}};
  for (uint32_t row = 0; row < 8; ++row)
    request.addresses[row] = block.shared.offsetOf(rows[row]);
  block.traffic.countShared(request);
  Counters &counters = block.launch.counters;
  (kind == AccessKind::read ? counters.sharedReadBytes : counters.sharedWriteBytes) += 8 * kRowBytes;
}

void requireWholeWarp(Warp &warp, const Op &op, uint32_t mask) {
  if (mask != ~0u)
    warp.block->fail(warp.block->describe(Fault::divergence, warp.block->threads[warp.index * 32 + std::countr_zero(mask)], op, "runs",
                                          "only " + std::to_string(std::popcount(mask)) + " of 32 lanes are there"));
}

/// Where the two elements of lane 4 g + q lie in a matrix: register i holds matrix i.
struct Pair {
  uint32_t row[2], column[2];
};
Pair pairOf(uint32_t lane, bool isTransposed) {
  const uint32_t g = lane / 4, q = lane % 4;
  if (isTransposed)
    return {{2 * q, 2 * q + 1}, {g, g}};
  return {{g, g}, {2 * q, 2 * q + 1}};
}
} // namespace

template <Element type, uint32_t k> static void multiplyAs(Slot *const *frames) {
  constexpr uint32_t firstSum = k / 4 + k / 8;
  Operands operands;
  for (uint32_t lane = 0; lane < 32; ++lane)
    readFragments<type, k>(operands, lane, frames[lane]);
  multiply<k>(operands);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      set<float>(frames[lane], firstSum + 4 + i, operands.sums[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]);
}

template <Element type, uint32_t k> void multiplyMatrices(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  requireWholeWarp(warp, op, mask);
  multiplyAs<type, k>(frames);
  ++warp.block->launch.counters.matrixInstructions;
}
template void multiplyMatrices<Element::bf16, 8>(Warp &, const Op &, Slot *const *, uint32_t);
template void multiplyMatrices<Element::bf16, 16>(Warp &, const Op &, Slot *const *, uint32_t);
template void multiplyMatrices<Element::f16, 8>(Warp &, const Op &, Slot *const *, uint32_t);
template void multiplyMatrices<Element::f16, 16>(Warp &, const Op &, Slot *const *, uint32_t);

void loadMatrices(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  requireWholeWarp(warp, op, mask);
  const auto [count, isTransposed, unused, order] = op.instruction.modifiers;
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    std::array<uint8_t *, 8> rows;
    for (uint32_t row = 0; row < 8; ++row)
      rows[row] = rowAddress(warp, op, frames, 8 * matrix + row, AccessKind::read);
    countRows(*warp.block, rows, AccessKind::read);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const Pair pair = pairOf(lane, isTransposed);
      uint16_t elements[2];
      for (uint32_t half = 0; half < 2; ++half)
        std::memcpy(&elements[half], rows[pair.row[half]] + 2 * pair.column[half], 2);
      set<uint32_t>(frames[lane], 1 + matrix, elements[0] | static_cast<uint32_t>(elements[1]) << 16);
    }
  }
}

void storeMatrices(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  requireWholeWarp(warp, op, mask);
  const auto [count, isTransposed, unused, order] = op.instruction.modifiers;
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    std::array<uint8_t *, 8> rows;
    for (uint32_t row = 0; row < 8; ++row)
      rows[row] = rowAddress(warp, op, frames, 8 * matrix + row, AccessKind::write);
    countRows(*warp.block, rows, AccessKind::write);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const Pair pair = pairOf(lane, isTransposed);
      const auto value = get<uint32_t>(frames[lane], 1 + matrix);
      for (uint32_t half = 0; half < 2; ++half) {
        const auto bits = static_cast<uint16_t>(value >> 16 * half);
        std::memcpy(rows[pair.row[half]] + 2 * pair.column[half], &bits, 2);
      }
    }
  }
}
} // namespace logitile::emulator

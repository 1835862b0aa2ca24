// Wgmma.cpp - wgmma.mma_async with its fence and groups. Each warp computes its own 16 rows of the
// 64, when it waits for them: the other warps of its warpgroup may be at an earlier instruction.
// PTX promises completion only to threads that wait, so each warp has to.
#include "emulator/block/Access.h"
#include "emulator/core/Families.h"
#include "emulator/core/Numbers.h"
#include <algorithm>

namespace logitile::emulator {
namespace {
constexpr uint32_t kRows = 16, kDepth = 16, kMostColumns = 256;
constexpr uint32_t kChunkBytes = 16, kPerChunk = 8, kElementBytes = 2;

/// An operand of the instruction: a slot of the frame, or a number in its text.
uint64_t operandOf(const Op &op, ProductOperand which, const Slot *frame) {
  const uint32_t place = op.instruction.operands[static_cast<uint32_t>(which)];
  return place & kLiteral ? place & ~kLiteral : frame[place];
}

Element elementOf(const Op &op) { return static_cast<Element>(op.instruction.modifiers[1]); }
bool hasFragment(const Op &op) { return op.instruction.modifiers[2] != 0; }

[[noreturn]] void misuse(Warp &warp, const Op &op, std::string detail) {
  warp.block->fail(warp.block->describe(Fault::misuse, warp.block->currentThread(), op, "runs", std::move(detail)));
}

float decode(Element element, const uint8_t *at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return element == Element::bf16 ? fromBf16(bits) : fromF16(bits);
}

/// Calls 'body' with the offset of each 16 bytes of an operand, and with its first row and place
/// along K.
template <typename Body> void forChunks(const MatrixLayout &layout, bool isTransposed, uint32_t first, uint32_t rows, Body body) {
  const uint32_t rowStep = isTransposed ? kPerChunk : 1, kStep = isTransposed ? 1 : kPerChunk;
  for (uint32_t row = 0; row < rows; row += rowStep)
    for (uint32_t k = 0; k < kDepth; k += kStep)
      body(layout.chunk(first + row, k), row, k);
}

MatrixLayout layoutOfA(const Product &product) { return {product.a, product.isTransposedA}; }
MatrixLayout layoutOfB(const Product &product) { return {product.b, product.isTransposedB}; }
uint32_t firstRow(const Warp &warp) { return warp.index % 4 * kRows; }

/// All that the product reads must be known to its threads now, and may not change until it has
/// been waited for.
void checkOperands(Warp &warp, const Product &product) {
  Block &block = *warp.block;
  const Op &op = *product.op;
  const ClockRef *checked = nullptr;
  auto check = [&](const MatrixLayout &layout, bool isTransposed, uint32_t first, uint32_t rows) {
    if (layout.baseOffset())
      misuse(warp, op, "its descriptor has base offset " + std::to_string(layout.baseOffset()) + "; the emulator knows only 0");
    forChunks(layout, isTransposed, first, rows, [&](uint32_t offset, uint32_t, uint32_t) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        Thread &thread = block.threads[warp.index * 32 + lane];
        if (lane && thread.knowledge.clock == *checked) // lanes that have waited together know the same
          continue;
        checked = &thread.knowledge.clock;
        touchShared({thread, block.actors.productEngineOf(warp.index), op, AccessKind::read, nullptr, nullptr, true},
                    block.shared.base() + offset, kChunkBytes);
      }
    });
  };
  if (!hasFragment(op))
    check(layoutOfA(product), product.isTransposedA, firstRow(warp), kRows);
  check(layoutOfB(product), product.isTransposedB, 0, product.columns);
  constexpr uint64_t rowBytes = kDepth * kElementBytes;
  block.launch.counters.sharedReadBytes += (hasFragment(op) ? 0 : kRows * rowBytes) + (warp.index % 4 ? 0 : product.columns * rowBytes);
}

// ---- computing ----------------------------------------------------------------------------------

struct Factors {
  alignas(64) float a[kRows][kDepth];
  alignas(64) float b[kDepth][kMostColumns];
  alignas(64) float sums[kRows][kMostColumns];
};

template <typename Set>
void read(const Warp &warp, const Op &op, const MatrixLayout &layout, bool isTransposed, uint32_t first, uint32_t rows, Set set) {
  const Element element = elementOf(op);
  forChunks(layout, isTransposed, first, rows, [&](uint32_t offset, uint32_t row, uint32_t k) {
    const uint8_t *chunk = warp.block->shared.base() + offset;
    for (uint32_t i = 0; i < kPerChunk; ++i)
      set(row + (isTransposed ? i : 0), k + (isTransposed ? 0 : i), decode(element, chunk + i * kElementBytes));
  });
}

/// PTX ISA, "Register fragments for wgmma": as those of mma.sync with 16 rows.
void readFragment(Factors &factors, const Product &product) {
  const Element element = elementOf(*product.op);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t half = 0; half < 2; ++half) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(&product.fragment[lane][i]);
        factors.a[lane / 4 + 8 * (i % 2)][2 * (lane % 4) + 8 * (i / 2) + half] = decode(element, bytes + half * kElementBytes);
      }
}

/// PTX ISA, "Matrix fragments for wgmma .m64nNk16", D: register 4 j + 2 h + e of lane 4 g + q is
/// row g + 8 h, column 8 j + 2 q + e.
template <typename Body> void forSums(uint32_t columns, Body body) {
  for (uint32_t index = 0; index < columns / 2; ++index)
    for (uint32_t lane = 0; lane < 32; ++lane)
      body(index, lane, lane / 4 + 8 * (index / 2 % 2), index / 4 * 8 + 2 * (lane % 4) + index % 2);
}

void multiply(Factors &factors, uint32_t columns) {
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t k = 0; k < kDepth; ++k)
      for (uint32_t column = 0; column < columns; ++column)
        factors.sums[row][column] += factors.a[row][k] * factors.b[k][column];
}

void runProduct(Warp &warp, const Product &product) {
  static thread_local Factors factors;
  const Op &op = *product.op;
  if (hasFragment(op))
    readFragment(factors, product);
  else
    read(warp, op, layoutOfA(product), product.isTransposedA, firstRow(warp), kRows,
         [&](uint32_t row, uint32_t k, float value) { factors.a[row][k] = value; });
  read(warp, op, layoutOfB(product), product.isTransposedB, 0, product.columns,
       [&](uint32_t column, uint32_t k, float value) { factors.b[k][column] = product.sign * value; });
  Sums &sums = warp.products.sums(product.slot);
  forSums(product.columns, [&](uint32_t index, uint32_t lane, uint32_t row, uint32_t column) {
    factors.sums[row][column] = product.adds ? sums.values[index][lane] : 0;
  });
  multiply(factors, product.columns);
  forSums(product.columns, [&](uint32_t index, uint32_t lane, uint32_t row, uint32_t column) {
    sums.values[index][lane] = factors.sums[row][column];
  });
  --sums.pending;
}

// ---- issuing ------------------------------------------------------------------------------------

Product readProduct(Warp &warp, const Op &op, Slot *const *frames) {
  Product product;
  product.op = &op;
  product.columns = op.instruction.modifiers[0];
  auto get = [&](ProductOperand which) { return operandOf(op, which, frames[0]); };
  auto sign = [&](ProductOperand which) { return static_cast<int32_t>(get(which)) == 1 ? 1.0f : -1.0f; };
  product.a = hasFragment(op) ? 0 : get(ProductOperand::a);
  product.b = get(ProductOperand::b);
  product.adds = static_cast<uint32_t>(get(ProductOperand::adds)) != 0;
  product.sign = sign(ProductOperand::signA) * sign(ProductOperand::signB);
  product.isTransposedA = get(ProductOperand::transposesA) != 0;
  product.isTransposedB = get(ProductOperand::transposesB) != 0;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if (operandOf(op, ProductOperand::b, frames[lane]) != product.b ||
        (!hasFragment(op) && operandOf(op, ProductOperand::a, frames[lane]) != product.a))
      misuse(warp, op, "lanes 0 and " + std::to_string(lane) + " of its warp give different descriptors");
    for (uint32_t i = 0; i < 4 && hasFragment(op); ++i)
      product.fragment[lane][i] = static_cast<uint32_t>(frames[lane][op.instruction.operands[uint32_t(ProductOperand::a)] + i]);
  }
  return product;
}

/// The sums that all registers of the warp mark in their order; null where they hold anything else.
Sums *markedSums(Warp &warp, const Op &op, Slot *const *frames, uint32_t &slot) {
  const uint32_t first = op.instruction.operands[uint32_t(ProductOperand::sums)], columns = op.instruction.modifiers[0];
  const auto start = get<uint32_t>(frames[0], first);
  Sums *sums = Sums::isMark(start) ? warp.products.find(start) : nullptr;
  if (!sums)
    return nullptr;
  Sums::Mark mark = Sums::markOf(start);
  slot = mark.slot;
  for (mark.index = 0; mark.index < columns / 2; ++mark.index)
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (get<uint32_t>(frames[lane], first + mark.index) != mark.bits())
        return nullptr;
  return sums;
}

Sums &newSums(Warp &warp, const Op &op, Product &product) {
  product.slot = warp.products.takeSlot();
  if (product.slot == Sums::kSlots)
    misuse(warp, op, "more than 64 products with sums of their own are under way");
  Sums &sums = warp.products.sums(product.slot);
  sums.columns = product.columns;
  return sums;
}

/// Gives the product its sums: those of the product before it, or new ones from the registers. What
/// registers hold before a product that does not add to them is not read.
Sums &takeSums(Warp &warp, const Op &op, Slot *const *frames, Product &product) {
  if (!product.adds)
    return newSums(warp, op, product);
  const uint32_t first = op.instruction.operands[uint32_t(ProductOperand::sums)];
  Sums *before = markedSums(warp, op, frames, product.slot);
  if (before && before->columns == product.columns)
    return *before;
  if (before && before->pending)
    misuse(warp, op, "its sums are those of a wgmma of another shape, which has not been waited for");
  std::vector<float> values;
  for (uint32_t index = 0; index < product.columns / 2; ++index)
    for (uint32_t lane = 0; lane < 32; ++lane)
      values.push_back(resolveSum(&warp.block->threads[warp.index * 32 + lane], &op, get<float>(frames[lane], first + index)));
  Sums &sums = newSums(warp, op, product);
  for (size_t i = 0; i < values.size(); ++i)
    sums.values[i / 32][i % 32] = values[i];
  return sums;
}

/// PTX ISA, "wgmma.mma_async": all four warps of a warpgroup run the same, with the same
/// descriptors.
void checkWarpgroup(Warp &warp, const Product &product) {
  Block &block = *warp.block;
  if (warp.index / 4 * 4 + 4 > block.warps.size())
    misuse(warp, *product.op, "its warpgroup has fewer than 4 warps");
  Warpgroup &group = block.warpgroups[warp.index / 4];
  uint64_t &mine = group.issued[warp.index % 4];
  const uint64_t place = mine++ - group.first;
  if (place == group.products.size()) {
    group.products.push_back({product.op, product.a, product.b});
  } else {
    const Warpgroup::Issued &theirs = group.products[place];
    if (theirs.op != product.op || theirs.a != product.a || theirs.b != product.b)
      misuse(warp, *product.op, "another warp of its warpgroup runs another wgmma at this place, or has other descriptors");
  }
  while (!group.products.empty() && *std::min_element(group.issued.begin(), group.issued.end()) > group.first) {
    group.products.pop_front();
    ++group.first;
  }
}
} // namespace

void multiplyAsync(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  Block &block = *warp.block;
  if (mask != ~0u)
    misuse(warp, op, "only " + std::to_string(std::popcount(mask)) + " of 32 lanes are there");
  Product product = readProduct(warp, op, frames);
  checkWarpgroup(warp, product);
  uint32_t slot;
  const bool needsFence = hasFragment(op) || !markedSums(warp, op, frames, slot);
  if (needsFence && !warp.products.hasFence)
    misuse(warp, op, "no wgmma.fence stands between it and what set its registers");
  Sums &sums = takeSums(warp, op, frames, product);
  checkOperands(warp, product);
  product.time = block.now;
  ++sums.pending;
  sums.version = (sums.version + 1) % Sums::kVersions;
  warp.products.issued.push_back(product);
  const uint32_t result = op.instruction.operands[uint32_t(ProductOperand::results)];
  for (Sums::Mark mark{0, product.slot, sums.version}; mark.index < product.columns / 2; ++mark.index)
    for (uint32_t lane = 0; lane < 32; ++lane)
      set<uint32_t>(frames[lane], result + mark.index, mark.bits());
  ++block.launch.counters.matrixInstructions;
}

void fenceProducts(Warp &warp, const Op &, Slot *const *, uint32_t) { warp.products.hasFence = true; }

void commitProducts(Warp &warp, const Op &, Slot *const *, uint32_t) { warp.products.groups.push_back(warp.block->now++); }

void waitProducts(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  Products &products = warp.products;
  const uint64_t most = operandOf(op, ProductOperand::groups, frames[std::countr_zero(mask)]);
  uint32_t done = 0;
  for (; products.groups.size() > most; products.groups.pop_front()) {
    done = products.groups.front();
    for (; !products.issued.empty() && products.issued.front().time <= done; products.issued.pop_front())
      runProduct(warp, products.issued.front());
  }
  products.hasFence = false;
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t lane = std::countr_zero(left);
    Knowledge &knowledge = warp.block->threads[warp.index * 32 + lane].knowledge;
    knowledge.products = std::max(knowledge.products, done);
    const std::vector<uint32_t> &operands = op.instruction.operands; // after the count of groups: results, and what they repeat
    for (size_t i = 1; i + 1 < operands.size(); i += 2)
      frames[lane][operands[i]] = frames[lane][operands[i + 1]];
  }
}

float resolveSum(Thread *thread, const Op *op, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (!Sums::isMark(bits))
    return value;
  Block &block = *thread->block;
  const Sums *sums = block.warpOf(*thread).products.find(bits);
  if (!sums)
    block.fail(block.describe(Fault::misuse, *thread, *op, "uses a sum of a wgmma", "the sum has gone into a later wgmma since"));
  if (!sums->pending)
    return sums->values[Sums::markOf(bits).index][thread->lane];
  constexpr uint32_t kNobody = ~0u;
  if (!block.launch.findings.isKnown(Fault::inFlight, op->index, kNobody))
    block.launch.findings.add(block.describe(Fault::inFlight, *thread, *op, "uses a sum of a wgmma",
                                             "the wgmma may not have written it; wait for its group first"),
                              op->index, kNobody);
  return std::bit_cast<float>(0xffffffffu);
}
} // namespace logitile::emulator

// Products.h - matrix products of wgmma that one warp has issued: they run as late as is legal, and
// until then no code may use their sums. The instructions are in Wgmma.cpp.
#pragma once
#include "emulator/core/Instruction.h"
#include <deque>
#include <memory>
#include <vector>

namespace logitile::emulator {
/// Operands of one wgmma, as one warp gives them.
struct Product {
  const Op *op = nullptr;
  uint32_t columns = 0, slot = 0, time = 0;
  uint64_t a = 0, b = 0;                            // descriptors
  std::array<std::array<uint32_t, 4>, 32> fragment; // of A, by lane, where A is in registers
  bool adds = false;                                // to the sums, rather than starts them
  float sign = 1;
  bool isTransposedA = false, isTransposedB = false;
};

/// Sums in registers are values of the kernel's code, which must not have them before the product
/// runs. So code holds a mark in their place: which sum of which product. A mark is a signalling
/// NaN, which no arithmetic gives.
class Sums {
public:
  static constexpr uint32_t kMost = 128; // per thread
  uint32_t columns = 0, version = 0, pending = 0;
  std::array<std::array<float, 32>, kMost> values; // by register and lane

  struct Mark {
    uint32_t index, slot, version;
    uint32_t bits() const { return kPattern | index << 14 | slot << 8 | version; }
  };
  static bool isMark(uint32_t bits) { return (bits & kMask) == kPattern; }
  static Mark markOf(uint32_t bits) { return {bits >> 14 & 127, bits >> 8 & 63, bits & 255}; }
  static constexpr uint32_t kSlots = 64, kVersions = 256;

private:
  static constexpr uint32_t kPattern = 0xffa00000, kMask = 0xffe00000;
};

class Products {
public:
  /// The sums that a mark means; null where others have taken their place.
  Sums *find(uint32_t bits) const;
  /// Room for new sums: that which has not been used for longest and is not pending.
  uint32_t takeSlot();
  Sums &sums(uint32_t slot) const { return *slots[slot]; }
  bool hasFence = false; // since the last wait, or since the sums were set

  std::deque<Product> issued;
  std::deque<uint32_t> groups; // the time of each commit that has not been waited for

private:
  std::vector<std::unique_ptr<Sums>> slots;
  uint32_t next = 0;
};

/// Where in shared memory the elements, of 16 bits, of an operand of a product lie. PTX ISA,
/// "Matrix descriptor", "Canonical layouts".
class MatrixLayout {
public:
  MatrixLayout(uint64_t descriptor, bool isTransposed);
  /// Offset of 16 bytes: of 'row' along M or N, with elements along K from 'k' on; or, transposed,
  /// of elements along M or N from 'row' on.
  uint32_t chunk(uint32_t row, uint32_t k) const;
  uint32_t baseOffset() const { return base; }

private:
  uint32_t start, leading, stride, span, base;
  bool isTransposed;
};
} // namespace logitile::emulator

// Products.h - the matrix products of wgmma that one warp has issued. They are computed as late as
// is legal. Until then no code may use their sums. The instructions are in Wgmma.cpp.
#pragma once
#include "emulator/core/Instruction.h"
#include <deque>
#include <memory>
#include <vector>

namespace logitile::emulator {
/// The operands of one wgmma, as one warp passes them.
struct Product {
  const Op *op = nullptr;
  uint32_t columns = 0, slot = 0, time = 0;
  uint64_t a = 0, b = 0;                            // descriptors
  std::array<std::array<uint32_t, 4>, 32> fragment; // of A, by lane, if A is in registers
  bool adds = false;                                // to the sums; otherwise the sums start from zero
  float sign = 1;
  bool isTransposedA = false, isTransposedB = false;
};

/// The sums of products that have the same registers for their sums. The kernel's code has values
/// in place of these registers, and must not use the sums before the products have been computed.
/// So the values are marks until then. A mark says which sum of which product it stands for. It is
/// a signalling NaN, which is never a result of arithmetic.
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
  /// The sums that a mark stands for; null if a later product has changed these sums or taken their
  /// place.
  Sums *find(uint32_t bits) const;
  /// A slot for new sums: a new slot, or, if there are kSlots slots, the next one in turn that has
  /// no pending products. kSlots if there is none.
  uint32_t takeSlot();
  Sums &sums(uint32_t slot) const { return *slots[slot]; }
  bool hasFence = false; // whether there was a wgmma.fence since the last wait

  std::deque<Product> issued;
  std::deque<uint32_t> groups; // the time of each commit whose group has not been waited for

private:
  std::vector<std::unique_ptr<Sums>> slots;
  uint32_t next = 0;
};

/// The places of an operand's elements in shared memory. Elements have 16 bits. PTX ISA, "Matrix
/// descriptor", "Canonical layouts".
class MatrixLayout {
public:
  MatrixLayout(uint64_t descriptor, bool isTransposed);
  /// The offset of 16 bytes, which hold 8 elements. They have the index 'row' along M or N, and
  /// start at 'k' along K. In a transposed operand they have the index 'k' along K, and start at
  /// 'row' along M or N.
  uint32_t chunk(uint32_t row, uint32_t k) const;
  uint32_t baseOffset() const { return base; }

private:
  uint32_t start, leading, stride, span, base;
  bool isTransposed;
};
} // namespace logitile::emulator

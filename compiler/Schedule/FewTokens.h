// FewTokens.h - calls with so few tokens that most lanes of a panel would be empty.
#pragma once
#include "llvm/Support/MathExtras.h"

namespace logitile {
/// The most rows of the head that a kernel of dot products multiplies at a time, and the most
/// tokens whose sums it keeps in memory.
inline constexpr int64_t kDotRows = 8, kDotTokens = 48;
/// The most rows of the head that rank updates take at a time.
inline constexpr int64_t kUpdateRows = 8;
/// The distance, in elements, from one copied row of the head to the next.
inline int64_t dotCopyStride(int64_t size) { return llvm::alignTo(size, 32) + 32; }
} // namespace logitile

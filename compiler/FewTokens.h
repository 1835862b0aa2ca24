// FewTokens.h - calls with so few tokens that most lanes of a panel would stand for none.
#pragma once
#include "compiler/Target.h"

namespace logitile {
/// The most tokens whose logits are dot products along the hidden axis: panels of tokens cost the same for one token as for
/// all of their lanes, dot products as much as there are tokens.
inline int64_t fewTokens(const CpuTierInfo &tier) { return tier.panelWidth() * 3 / 2; }

/// Rows of the head that are multiplied at a time.
inline constexpr int64_t kDotRows = 4;
/// Rows of the head that a gradient of hidden states takes at a time. A contraction in blocks of so few multiplies them where
/// they lie.
inline constexpr int64_t kUpdateRows = 8;
/// Elements from one copied row of the head to the next.
inline int64_t dotCopyStride(int64_t size) { return (size + 31) / 32 * 32 + 32; }
} // namespace logitile

// Philox.cpp - the rounds of the generator, and how a word becomes a float.
#include "compiler/Conversion/Philox.h"
using namespace mlir;
using namespace logitile;

namespace {
constexpr int kRounds = 10;
// Multipliers of the counter and steps of the key, from the paper.
constexpr int32_t kMultipliers[] = {static_cast<int32_t>(0xD2511F53), static_cast<int32_t>(0xCD9E8D57)};
constexpr int32_t kSteps[] = {static_cast<int32_t>(0x9E3779B9), static_cast<int32_t>(0xBB67AE85)};

struct Product {
  Lanes low, high;
};
/// All 64 bits of a product of unsigned numbers.
Product multiply(Lanes x, int32_t factor) {
  ImplicitLocOpBuilder &b = x.builder();
  auto product = arith::MulUIExtendedOp::create(b, x, x.like(factor));
  return {{b, product.getLow()}, {b, product.getHigh()}};
}
} // namespace

std::array<Lanes, 4> logitile::philox(std::array<Lanes, 4> counter, std::array<Lanes, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0)
      key = {key[0] + kSteps[0], key[1] + kSteps[1]};
    Product first = multiply(counter[0], kMultipliers[0]), second = multiply(counter[2], kMultipliers[1]);
    counter = {second.high ^ counter[1] ^ key[0], second.low, first.high ^ counter[3] ^ key[1], first.low};
  }
  return counter;
}

/// (word + 0.5) / 2^32 as an f32. The largest words would be rounded to 1, so they are cut to the
/// last that is rounded down.
static Lanes between0And1(Lanes word) {
  ImplicitLocOpBuilder &b = word.builder();
  constexpr int32_t kLast = static_cast<int32_t>(0xFFFFFF7F);
  Lanes least(b, arith::MinUIOp::create(b, word, word.like(kLast)));
  Lanes number(b, arith::UIToFPOp::create(b, word.with(b.getF32Type()), least));
  return number * 0x1p-32 + 0x1p-33; // the product is exact, so it does not matter whether it is fused with the sum
}

Lanes logitile::uniform(Lanes seed, Lanes stream, Lanes token, Lanes column) {
  Lanes zero = column.like(0);
  return between0And1(philox({column, token, zero, zero}, {seed, stream})[0]);
}

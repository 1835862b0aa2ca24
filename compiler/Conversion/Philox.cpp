// Philox.cpp - the rounds of the generator, and how a word becomes a float.
#include "compiler/Conversion/Philox.h"
#include "compiler/Conversion/IndexFacts.h"
#include "mlir/IR/Matchers.h"
using namespace mlir;
using namespace logitile;

namespace {
constexpr int kRounds = 10;
// Multipliers of the counter and steps of the key, from the paper.
constexpr int32_t kMultipliers[] = {static_cast<int32_t>(0xD2511F53), static_cast<int32_t>(0xCD9E8D57)};
constexpr int32_t kSteps[] = {static_cast<int32_t>(0x9E3779B9), static_cast<int32_t>(0xBB67AE85)};
struct WideProduct {
  Lanes low, high;
};
/// All 64 bits of a product of unsigned numbers.
WideProduct multiply(Lanes x, int32_t factor) {
  ImplicitLocOpBuilder &b = x.builder();
  auto product = arith::MulUIExtendedOp::create(b, x, x.like(factor));
  return {{b, product.getLow()}, {b, product.getHigh()}};
}
} // namespace

std::array<Lanes, 4> logitile::philox(std::array<Lanes, 4> counter, std::array<Lanes, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0)
      key = {key[0] + kSteps[0], key[1] + kSteps[1]};
    WideProduct first = multiply(counter[0], kMultipliers[0]), second = multiply(counter[2], kMultipliers[1]);
    counter = {second.high ^ counter[1] ^ key[0], second.low, first.high ^ counter[3] ^ key[1], first.low};
  }
  return counter;
}

Lanes logitile::between0And1(Lanes word) {
  ImplicitLocOpBuilder &b = word.builder();
  constexpr int32_t kLast = static_cast<int32_t>(0xFFFFFF7F);
  Lanes least(b, arith::MinUIOp::create(b, word, word.like(kLast)));
  Lanes number(b, arith::UIToFPOp::create(b, word.with(b.getF32Type()), least));
  return number * 0x1p-32 + 0x1p-33; // the product is exact, so it does not matter whether it is fused with the sum
}

std::array<Lanes, 4> logitile::wordsOfBlock(Lanes seed, Lanes stream, Lanes token, Lanes column) {
  Lanes zero = column.like(0);
  return philox({column & column.like(~kWordBits), token, zero, zero}, {seed, stream});
}

/// The word of 'column'. Those bits of its number that are 'known' are as in 'number'.
static Lanes chooseWord(const std::array<Lanes, 4> &words, Lanes column, int64_t known, int64_t number) {
  ImplicitLocOpBuilder &b = column.builder();
  auto choose = [&](int64_t bit, Lanes set, Lanes unset) {
    if (known & bit)
      return number & bit ? set : unset;
    Lanes isSet(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, column & column.like(bit), column.like(0)));
    return set.where(isSet, unset);
  };
  Lanes early = choose(kWordStep, words[1], words[0]), late = choose(kWordStep, words[3], words[2]);
  return choose(2 * kWordStep, late, early);
}

Lanes logitile::uniform(Lanes seed, Lanes stream, Lanes token, Lanes column) {
  return between0And1(chooseWord(wordsOfBlock(seed, stream, token, column), column, /*known=*/0, /*number=*/0));
}

// ---- columns of scalars -------------------------------------------------------------------------

namespace {
/// An i32 as a sum of values and a constant, modulo 2^32.
struct Sum {
  SmallVector<const void *> terms;
  int64_t constant = 0;
  llvm::KnownBits bits = llvm::KnownBits::makeConstant(APInt(32, 0)); // of the sum of the terms

  explicit Sum(Value value) { add(value, /*depth=*/6); }
  /// Whether an op extends 32 bits or more: modulo 2^32 that changes nothing.
  static bool isFromWord(Operation *op) {
    auto extension = dyn_cast_or_null<arith::ExtUIOp>(op);
    return extension && extension.getIn().getType().getIntOrFloatBitWidth() >= 32;
  }
  /// Sums of more than 'depth' sums are one term: a sum may have itself as both operands.
  void add(Value value, unsigned depth) {
    APInt number;
    Operation *op = depth > 0 ? value.getDefiningOp() : nullptr;
    if (matchPattern(value, m_ConstantInt(&number))) {
      constant += number.getSExtValue();
    } else if (isa_and_nonnull<arith::AddIOp, arith::TruncIOp>(op) || isFromWord(op)) {
      for (Value operand : op->getOperands())
        add(operand, depth - 1);
    } else {
      terms.push_back(value.getAsOpaquePointer());
      bits = llvm::KnownBits::add(bits, knownBits(value).trunc(32));
    }
  }
};
} // namespace

Value SharedDraws::draw(UniformOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Lanes column(b, op.getColumn());
  Sum sum(op.getColumn());
  int64_t maybeSet = (~sum.bits.Zero).getZExtValue();
  // If terms and constant have none of these bits in common, none is carried.
  int64_t known = maybeSet & sum.constant & (kBlockSpan - 1) ? 0 : kWordBits & ~maybeSet;
  Key key{{op.getSeed().getAsOpaquePointer(), op.getStream().getAsOpaquePointer(), op.getToken().getAsOpaquePointer()},
          sum.constant & ~known};
  key.first.append(sum.terms);
  std::array<Value, 4> &words = blocks[key];
  bool isInReach = words[0] && words[0].getParentBlock()->findAncestorOpInBlock(*op);
  if (!isInReach)
    llvm::copy(wordsOfBlock({b, op.getSeed()}, {b, op.getStream()}, {b, op.getToken()}, column), words.begin());
  auto word = [&](size_t number) { return Lanes(b, words[number]); };
  return between0And1(chooseWord({word(0), word(1), word(2), word(3)}, column, known, sum.constant));
}

// MathFunctions.cpp - approximations of elementary functions. Polynomials are our own minimax fits
// (Remez exchange, relative error of the whole function); the size of their error stands beside
// them.
#include "compiler/Conversion/MathFunctions.h"
#include "compiler/Conversion/Lanes.h"
#include <cmath>
#include <limits>
using namespace mlir;
using namespace logitile;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634;
// log(2) in two parts. The first has 9 bits that are zero, so its product with an exponent is
// exact.
constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440054690583e-4;
// log(2) as an f32, and what that lacks.
constexpr double kLn2 = 0.693147182464599609375, kLn2Rest = -1.90465429995776804525e-9;
// Adding and subtracting it rounds to an integer, which then stands in the low bits.
constexpr double kRounder = 12582912.0, kRounderF64 = 6755399441055744.0; // 1.5 * 2^23, 1.5 * 2^52

/// A polynomial, the lowest coefficient first, as a chain of fused (or else rounded) products.
Lanes polynomial(Lanes x, ArrayRef<double> coefficients, bool hasFma) {
  Lanes sum = x.like(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back())) {
    Lanes next = x.like(coefficient);
    sum = hasFma ? Lanes(x.builder(), math::FmaOp::create(x.builder(), sum, x, next)) : sum * x + next;
  }
  return sum;
}
/// Keeps x in [low, high]. In this order a NaN passes: no comparison with it holds.
Lanes clamp(Lanes x, double low, double high) {
  Lanes atLeast = x.like(low).where(x < low, x);
  return x.like(high).where(atLeast > high, atLeast);
}
} // namespace

Value MathFunctions::fma(Value x, Value y, Value z) {
  if (hasFma)
    return math::FmaOp::create(b, x, y, z);
  Type wide = Lanes::retype(type, b.getF64Type());
  auto extend = [&](Value value) { return Lanes(b, arith::ExtFOp::create(b, wide, value)); };
  return arith::TruncFOp::create(b, type, extend(x) * extend(y) + extend(z));
}

// ---- exponentials -------------------------------------------------------------------------------

/// 2^power for powers in the normal range.
Value MathFunctions::powerOf2(Value power) { return (Lanes(b, power) + 127).left(23).asFloat(); }

/// x * 2^power in two steps, so that a result below the normal range is rounded once and one above
/// it becomes infinite.
Value MathFunctions::timesPowerOf2(Value x, Value power, Value bits) {
  if (Value scaled = target.scaleByPowerOf2(b, x, power))
    return scaled;
  Lanes half = Lanes(b, bits).rightSigned(1);
  return Lanes(b, x) * Lanes(b, powerOf2(half)) * Lanes(b, powerOf2(Lanes(b, bits) - half));
}

MathFunctions::Reduced MathFunctions::reduceByLog2(Value value) {
  Lanes x(b, value), rounder = x.like(kRounder);
  Lanes shifted = hasFma ? Lanes(b, math::FmaOp::create(b, x, x.like(kLog2E), rounder)) : x * kLog2E + rounder;
  Lanes n = shifted - rounder;
  Lanes rest = hasFma ? Lanes(b, math::FmaOp::create(b, n, x.like(-kLn2High), x)) : x - n * kLn2High;
  rest = hasFma ? Lanes(b, math::FmaOp::create(b, n, x.like(-kLn2Low), rest)) : rest - n * kLn2Low;
  return {rest, n, shifted.bits() - 0x4B400000};
}

/// 10 ulp, as the instruction is specified: h^2 (1 + r) with h = 2^(x / (2 log(2))), of a rounded
/// exponent, and r what that lost of x. A square, because the instruction makes 0 of results below
/// the normal range. Results are 0 and infinity beyond the bounds of x.
Value MathFunctions::expByExp2(Value value) {
  Value least = Lanes(b, value).like(-110.0), most = Lanes(b, value).like(90.0); // NaN stays
  Lanes x(b, arith::MaximumFOp::create(b, arith::MinimumFOp::create(b, value, most), least)), half = x * (kLog2E / 2);
  Lanes rest(b, math::FmaOp::create(b, half, x.like(-2 * kLn2), x));
  rest = Lanes(b, math::FmaOp::create(b, half, x.like(-2 * kLn2Rest), rest));
  Lanes root(b, target.approximateExp2(b, half));
  return root * Lanes(b, math::FmaOp::create(b, root, rest, root));
}

/// 1 ulp. exp(r) = 1 + r + r^2 Q(r): 3.6e-9.
Value MathFunctions::exp(Value value) {
  Lanes x = clamp(Lanes(b, value), -104.0, 89.0); // 0 and infinity beyond
  Reduced reduced = reduceByLog2(x);
  Lanes r(b, reduced.rest);
  Lanes q =
      polynomial(r, {0.4999999403953552, 0.16666509211063385, 0.04166852682828903, 0.008370134979486465, 0.0013811662793159485}, hasFma);
  Lanes small = hasFma ? Lanes(b, math::FmaOp::create(b, r * r, q, r)) : r * r * q + r;
  return timesPowerOf2(small + 1.0, reduced.power, reduced.bits);
}

/// 1 ulp, 1.25 without fused products. 2^r = 1 + r P(r): 2.2e-9.
Value MathFunctions::exp2(Value value) {
  Lanes x = clamp(Lanes(b, value), -151.0, 129.0), rounder = x.like(kRounder);
  Lanes shifted = x + rounder, n = shifted - rounder, r = x - n;
  Lanes p = polynomial(r,
                       {1.0, 0.6931471824645996, 0.24022650718688965, 0.05550320819020271, 0.009617993608117104, 0.001340296701528132,
                        0.0001547924621263519},
                       hasFma);
  return timesPowerOf2(p, n, shifted.bits() - 0x4B400000);
}

/// expm1(r) = r + r^2 Q(r): 2.8e-10.
Value MathFunctions::smallExpm1(Value value) {
  Lanes r(b, value);
  Lanes q =
      polynomial(r, {0.5, 0.1666666567325592, 0.041666336357593536, 0.008333394303917885, 0.0013942698715254664, 0.00019846040231641382},
                 hasFma);
  return hasFma ? Lanes(b, math::FmaOp::create(b, r * r, q, r)) : r * r * q + r;
}

/// 2 ulp. With u = 2^(n-1), expm1(x) = 2 (u expm1(r) + (u - 1/2)), finite while the result is.
Value MathFunctions::expm1(Value value) {
  Lanes x = clamp(Lanes(b, value), -18.0, 89.0); // -1 and infinity beyond
  Reduced reduced = reduceByLog2(x);
  Lanes small(b, smallExpm1(reduced.rest)), u(b, powerOf2(Lanes(b, reduced.bits) - 1));
  Lanes half = hasFma ? Lanes(b, math::FmaOp::create(b, u, small, u - 0.5)) : u * small + (u - 0.5);
  // Where n is 0, u - 1/2 is as well: the small part is all, and products with 0 must not change
  // its sign.
  Lanes isSmall = x.magnitude() < 0.3;
  return small.where(isSmall, half * 2.0).withSignOf(x);
}

/// 3 ulp. y / (y + 2) with y = expm1(2 |x|), whose power of 2 is at least 1.
Value MathFunctions::tanh(Value value) {
  Lanes x(b, value), twice = x.magnitude() * 2.0;
  Reduced reduced = reduceByLog2(x.like(20.0).where(twice > 20.0, twice)); // 1 beyond
  Lanes small(b, smallExpm1(reduced.rest)), u(b, powerOf2(reduced.bits));
  Lanes y = hasFma ? Lanes(b, math::FmaOp::create(b, u, small, u - 1.0)) : u * small + (u - 1.0);
  return (y / (y + 2.0)).withSignOf(x);
}

/// 2 ulp. For small x, x + x P(x^2): 4.1e-10. For others 1 - exp(-Q(|x|)): 1.6e-9; Q stands for
/// -log(1 - erf).
Value MathFunctions::erf(Value value) {
  Lanes x(b, value), size = x.magnitude();
  Lanes p = polynomial(x * x,
                       {0.12837916663741114, -0.3761263373505785, 0.11283695493793675, -0.026859398263171002, 0.0052010323065659406,
                        -0.0008142704512764415, 8.370101386616083e-05},
                       hasFma);
  Lanes small = hasFma ? Lanes(b, math::FmaOp::create(b, x, p, x)) : x * p + x;
  Lanes q = polynomial(clamp(size, 0.0, 4.0), // 1 beyond
                       {0.00019568218513253094, 1.1276755981731594, 0.6371822965452202, 0.10393155204802647, -0.022226897923363256,
                        0.0030432115638507717, -0.00019593662190421187},
                       hasFma);
  Lanes large = (x.like(1.0) - Lanes(b, exp(-q))).withSignOf(x);
  return small.where(size < 0.921875, large);
}

// ---- logarithms ---------------------------------------------------------------------------------

MathFunctions::Split MathFunctions::splitNormal(Value x) {
  Lanes bits = Lanes(b, x).bits(), power = (bits - 0x3f2aaaab).rightSigned(23), powerBits = power.left(23); // 2/3
  return {(bits - powerBits).asFloat() - 1.0, arith::SIToFPOp::create(b, type, power), powerBits};
}

/// Numbers below the normal range are scaled into it first.
MathFunctions::Split MathFunctions::split(Value value) {
  Lanes x(b, value);
  Lanes isTiny = x < 0x1p-126;
  Split parts = splitNormal((x * 0x1p23).where(isTiny, x));
  Lanes exponent(b, parts.exponent);
  parts.exponent = (exponent - 23.0).where(isTiny, exponent);
  return parts;
}

/// log(1 + f) = f - f^2/2 + f^3 P(f): 8.6e-10; without the leading f.
Value MathFunctions::logOfOnePlus(Value value) {
  Lanes f(b, value), square = f * f;
  Lanes p = polynomial(f,
                       {0.3333333432674408, -0.24999819695949554, 0.1999959796667099, -0.1667957901954651, 0.14304456114768982,
                        -0.12195777148008347, 0.10754243284463882, -0.12845063209533691, 0.12007123231887817},
                       hasFma);
  Lanes rest = p * f * square;
  return hasFma ? Lanes(b, math::FmaOp::create(b, square, f.like(-0.5), rest)) : rest - square * 0.5;
}

Value MathFunctions::fixLog(Value value, Value result) {
  Lanes x(b, value), fixed(b, result);
  fixed = x.where(x == kInfinity, fixed);
  fixed = x.like(-kInfinity).where(x == 0.0, fixed);
  Lanes isWrong = Lanes(b, arith::CmpFOp::create(b, arith::CmpFPredicate::ULT, x, x.like(0.0))); // negative or NaN
  return x.like(kNan).where(isWrong, fixed);
}

Value MathFunctions::logOfSplit(Value fraction, Value exponent) {
  Lanes f(b, fraction), e(b, exponent);
  Lanes small = e * kLn2Low + Lanes(b, logOfOnePlus(f)) + f;
  return hasFma ? Lanes(b, math::FmaOp::create(b, e, f.like(kLn2High), small)) : e * kLn2High + small;
}

/// 1 ulp.
Value MathFunctions::log(Value x) {
  Split parts = split(x);
  return fixLog(x, logOfSplit(parts.fraction, parts.exponent));
}

/// 2 ulp. The factor 1/log(2) in two parts as well: near 1 the result is the product alone.
Value MathFunctions::log2(Value x) {
  constexpr double high = 1.44269502162933349609375, low = kLog2E - high;
  Split parts = split(x);
  Lanes f(b, parts.fraction), e(b, parts.exponent);
  Lanes y = Lanes(b, logOfOnePlus(f)) + f;
  Lanes tail = y * low;
  Lanes result = hasFma ? Lanes(b, math::FmaOp::create(b, y, f.like(high), tail)) : y * high + tail;
  return fixLog(x, result + e);
}

/// 2 ulp. 1 + x rounded is u = 2^e (1 + f). What the rounding lost is added to f, times 2^-e. From
/// 2^25 on it does not count.
Value MathFunctions::log1p(Value value) {
  Lanes x(b, value), u = x + 1.0;
  Split parts = splitNormal(u);
  Lanes exponentBits(b, parts.exponentBits), scale = (exponentBits.like(0x3f800000) - exponentBits).asFloat();
  Lanes lost = (x - (u - 1.0)) * scale;
  Lanes f = Lanes(b, parts.fraction) + lost.where(x < 0x1p25, x.like(0.0));
  Lanes result(b, fixLog(u, logOfSplit(f, parts.exponent)));
  return x.where(x.magnitude() < 0x1p-25, result); // -0 too
}

// ---- power --------------------------------------------------------------------------------------

namespace {
/// log2 and 2^x of f64, as exact as a power of f32 needs: 2e-13 and 4.1e-11.
struct Doubles {
  bool hasFma;

  Lanes log2(Lanes x) const {
    Lanes bits = x.bits();
    // Shifted down the exponent is positive, so that a logical shift will do and its bits can be
    // read as a fraction.
    Lanes offset = bits - 0x3fe5555555555555 + 0x3ff0000000000000; // 2/3, 1
    Lanes biased = offset.right(52);
    Lanes e = (biased | biased.like(int64_t(0x4330000000000000))).asFloat() - (0x1p52 + 1023.0);
    Lanes m = (bits - (biased - 1023).left(52)).asFloat();
    Lanes f = m - 1.0, s = f / (m + 1.0), t = s * s;
    Lanes r =
        polynomial(t, {0.33333333355434102, 0.19999992237055398, 0.14286598271867174, 0.1106735784402309, 0.10063503674024874}, hasFma);
    return e + (s + s * t * r) * (2 * kLog2E);
  }
  Lanes exp2(Lanes value) const {
    Lanes x = clamp(value, -1000.0, 1000.0), rounder = x.like(kRounderF64);
    Lanes shifted = x + rounder, r = x - (shifted - rounder);
    Lanes p = polynomial(r,
                         {0.9999999999616212, 0.69314718072871345, 0.24022651198755338, 0.05550410352842475, 0.0096180271726910248,
                          0.0013333922847386652, 0.00015469317329365393, 1.5201902929947356e-5},
                         hasFma);
    return p * (shifted.bits().left(52) + 0x3ff0000000000000).asFloat();
  }
};
} // namespace

/// 1 ulp. 2^(y log2 |x|) in f64, with the cases of C's pow.
Value MathFunctions::pow(Value base, Value power) {
  Type wide = Lanes::retype(type, b.getF64Type());
  Lanes x(b, base), y(b, power), size = x.magnitude();
  auto extend = [&](Lanes value) { return Lanes(b, arith::ExtFOp::create(b, wide, Value(value))); };
  Doubles doubles{hasFma};
  Lanes log = doubles.log2(extend(size));
  log = log.like(-kInfinity).where(extend(size) == 0.0, log);
  log = log.like(kInfinity).where(extend(size) == kInfinity, log);
  Lanes result(b, arith::TruncFOp::create(b, type, doubles.exp2(extend(y) * log)));

  Lanes one = x.like(1.0), half = y * 0.5;
  Lanes rounded(b, floor(y)), roundedHalf(b, floor(half));
  Lanes isNegative(b, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x.bits(), x.bits().like(0)));
  result = (-result).where(isNegative & (rounded == y) & (roundedHalf != half), result); // odd powers
  Lanes isFinite = (size < kInfinity) & (size > 0.0);
  result = x.like(kNan).where(isNegative & (rounded != y) & isFinite, result); // roots
  result = x.like(kNan).where(x.isNan() | y.isNan(), result);
  result = one.where((size == 1.0) & (y.magnitude() == kInfinity), result);
  return one.where((y == 0.0) | (x == 1.0), result);
}

// ---- sine and cosine ----------------------------------------------------------------------------

/// The product of |x| with 2 / pi, modulo 4, to 64 bits after Payne and Hanek (1983): however large
/// x is, only the bits of 2 / pi count that stand at and below its unit. No f32 is so near to a
/// multiple of pi / 2 that fewer than 30 of the 62 bits after the point are left. Small numbers
/// are their own rest.
MathFunctions::Angle MathFunctions::reduceByQuarterTurns(Value value) {
  constexpr int64_t kTwoOverPi[] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab}; // from 2^0 down
  constexpr int kFirstWords = 5; // that a window may begin with
  Type long64 = Lanes::retype(type, b.getI64Type()), wide = Lanes::retype(type, b.getF64Type());
  Lanes size = Lanes(b, value).magnitude();
  Lanes bits(b, arith::ExtUIOp::create(b, long64, size.bits()));
  Lanes mantissa = (bits & bits.like(int64_t(0x7fffff))) | bits.like(int64_t(0x800000));
  // |x| = mantissa * 2^(exponent - 150), so this many bits of the table make multiples of 4. It is
  // positive from 1/2 on.
  Lanes skipped = bits.right(23) - 120;
  Lanes first = skipped.right(5), shift = skipped & skipped.like(int64_t(31));
  SmallVector<Lanes> words; // four of the table, from the first one that is not skipped as a whole
  for (int i = 0; i < 4; ++i) {
    Lanes word = bits.like(kTwoOverPi[kFirstWords - 1 + i]);
    for (int64_t start = kFirstWords - 2; start >= 0; --start) {
      Lanes isHere(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first, first.like(start)));
      word = bits.like(kTwoOverPi[start + i]).where(isHere, word);
    }
    words.push_back(word);
  }
  auto window = [&](int i) { // 32 bits
    Lanes both = words[i].left(32) | words[i + 1];
    return Lanes(b, arith::ShRUIOp::create(b, Lanes(b, arith::ShLIOp::create(b, both, shift)), both.like(int64_t(32))));
  };
  Lanes turns = (mantissa * window(0)).left(32) + mantissa * window(1) + (mantissa * window(2)).right(32);
  Lanes quarter = (turns + (int64_t(1) << 61)).right(62); // to the nearest
  Lanes rest(b, arith::SIToFPOp::create(b, wide, turns - quarter.left(62)));
  Lanes isSmall = size < 0.5;
  Lanes radians = rest * 3.4061215800865545e-19; // pi / 2 * 2^-62
  return {Lanes(b, arith::ExtFOp::create(b, wide, Value(size))).where(isSmall, radians), quarter.like(int64_t(0)).where(isSmall, quarter)};
}

/// The sine of an angle, in f64. sin(r) = r + r^3 P(r^2): 5.2e-12; cos(r) = 1 - r^2/2 + r^4 Q(r^2):
/// 1.2e-13.
Value MathFunctions::sineOf(Value rest, Value quarter) {
  Lanes r(b, rest), square = r * r, turns(b, quarter);
  Lanes p = polynomial(square, {-0.1666666664079702, 0.00833332930484027, -0.0001983931226883643, 2.7181216223537453e-06}, hasFma);
  Lanes q = polynomial(square, {0.04166666661949211, -0.0013888883500137875, 2.4799460170278196e-05, -2.720575546267081e-07}, hasFma);
  Lanes sine = r + r * square * p, cosine = square.like(1.0) - square * 0.5 + square * square * q;
  auto isSet = [&](int64_t bit) {
    return Lanes(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, turns & turns.like(bit), turns.like(int64_t(0))));
  };
  Lanes result = cosine.where(isSet(1), sine);
  return (-result).where(isSet(2), result);
}

/// 1 ulp.
Value MathFunctions::sin(Value value) {
  Lanes x(b, value), size = x.magnitude();
  Angle angle = reduceByQuarterTurns(value);
  Lanes result(b, arith::TruncFOp::create(b, type, sineOf(angle.rest, angle.quarter)));
  Lanes isNegative(b, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x.bits(), x.bits().like(0)));
  return (-result).where(isNegative, result).where(size < kInfinity, x.like(kNan));
}

/// 1 ulp. cos(x) = sin(|x| + pi / 2).
Value MathFunctions::cos(Value value) {
  Lanes x(b, value), size = x.magnitude();
  Angle angle = reduceByQuarterTurns(value);
  Lanes result(b, arith::TruncFOp::create(b, type, sineOf(angle.rest, Lanes(b, angle.quarter) + int64_t(1))));
  return result.where(size < kInfinity, x.like(kNan));
}

// ---- rounding -----------------------------------------------------------------------------------

Value MathFunctions::roundEven(Value value) {
  Lanes x(b, value), size = x.magnitude();
  Lanes rounded = ((size + 0x1p23) - 0x1p23).withSignOf(x);
  return rounded.where(size < 0x1p23, x);
}
Value MathFunctions::floor(Value value) {
  Lanes x(b, value), rounded(b, roundEven(x));
  return (rounded - 1.0).where(x < rounded, rounded).withSignOf(x);
}

// Exponentials.cpp - the rules of weights and exponents.
#include "compiler/Transforms/CanonicaliseLoss/Exponentials.h"
#include "compiler/Expression/Facts.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
using namespace mlir;
using namespace logitile;

namespace {
struct Scaled {
  Value factor, x; // null where there is none
  explicit operator bool() const { return bool(factor); }
};
/// constant * x.
Scaled scaled(Value x) {
  if (!Writer::is<arith::MulFOp>(x))
    return {};
  for (unsigned first : {0u, 1u})
    if (Writer::isConstant(Writer::operand(x, first)))
      return {Writer::operand(x, first), Writer::operand(x, 1 - first)};
  return {};
}
Scaled positivelyScaled(Value x) {
  Scaled found = scaled(x);
  return found && *Writer::floatOf(found.factor) > 0 ? found : Scaled();
}
bool isExtreme(Value x) {
  std::optional<Combiner> combiner = Writer::combinerOf(x);
  return combiner == Combiner::Max || combiner == Combiner::Min;
}
} // namespace

// ---- weights ------------------------------------------------------------------------------------

bool Exponentials::isWeight(Value x) {
  if (auto known = weights.find(x); known != weights.end())
    return known->second;
  bool found = findWeight(x);
  weights[x] = found;
  return found;
}

bool Exponentials::findWeight(Value x) {
  return isWeightBy(
      weightRuleOf(Writer::opOf(x)), [&](unsigned i) { return isWeight(Writer::operand(x, i)); },
      [&](unsigned i) { return Writer::isConstant(Writer::operand(x, i)); });
}

// ---- exponents ----------------------------------------------------------------------------------

Value Exponentials::withExponent(Base base, Value exponent) {
  return base == Base::E ? w.write<math::ExpOp>(exponent) : w.write<math::Exp2Op>(exponent);
}
Value Exponentials::logarithmOf(Exponential x, Base base) {
  if (x.base == base)
    return x.exponent;
  return times(x.exponent, w.number(base == Base::E ? std::log(2.0) : 1 / std::log(2.0)));
}

Exponentials::Exponential Exponentials::exponential(Value x) {
  if (auto known = exponentials.find(x); known != exponentials.end())
    return known->second;
  Exponential found = findExponential(x);
  exponentials[x] = found;
  return found;
}

Exponentials::Exponential Exponentials::findExponential(Value x) {
  if (Writer::is<math::ExpOp, math::Exp2Op>(x))
    return {Writer::is<math::ExpOp>(x) ? Base::E : Base::Two, Writer::operand(x, 0)};
  if (Writer::is<MultiplyNoNanOp>(x)) {
    Exponential first = exponential(Writer::operand(x, 0)), second = exponential(Writer::operand(x, 1));
    if (!first || !second)
      return {};
    Base base = first.base == second.base ? first.base : Base::E;
    Value a = logarithmOf(first, base), b = logarithmOf(second, base);
    return {base, plus(a, b)};
  }
  if (isExtreme(x)) {
    Exponential inside = exponential(Writer::operand(x, 0));
    return inside ? Exponential{inside.base, w.reduced(*Writer::combinerOf(x), inside.exponent)} : Exponential();
  }
  Scaled found = positivelyScaled(x);
  Exponential inner = found ? exponential(found.x) : Exponential();
  if (!inner)
    return {};
  double factor = *Writer::floatOf(found.factor);
  return {inner.base, plus(inner.exponent, w.number(inner.base == Base::E ? std::log(factor) : std::log2(factor)))};
}

Value Exponentials::logarithm(Value x, Base base) {
  if (Exponential known = exponential(x))
    return logarithmOf(known, base);
  if (Writer::combinerOf(x) != Combiner::Sum)
    return {};
  Exponential inside = exponential(Writer::operand(x, 0));
  if (!inside)
    return {};
  return logarithmOf({Base::E, w.reduced(Combiner::LogSumExp, logarithmOf(inside, Base::E))}, base);
}

Value Exponentials::root(Value x, double power) {
  Exponential known = exponential(x);
  return known ? withExponent(known.base, product(w.number(power), known.exponent)) : Value();
}

// ---- entries ------------------------------------------------------------------------------------

Value Exponentials::entry(Value x, llvm::function_ref<Value(Value)> of) {
  Known known;
  return entry(x, of, /*onVarying=*/true, known);
}

Value Exponentials::selectedOrNaN(arith::SelectOp select) {
  for (unsigned taken : {1u, 2u}) {
    std::optional<double> other = Writer::floatOf(select.getOperand(3 - taken));
    if (!other || !std::isnan(*other))
      continue;
    Known known;
    auto selected = [&](Value exponent) {
      Value nan = select.getOperand(3 - taken);
      return w.write<arith::SelectOp>(select.getCondition(), taken == 1 ? exponent : nan, taken == 1 ? nan : exponent);
    };
    return entry(select.getOperand(taken), selected, /*onVarying=*/false, known);
  }
  return {};
}

/// Once for each value: after forty squarings a factor is there 2^40 times.
Value Exponentials::entry(Value x, llvm::function_ref<Value(Value)> of, bool onVarying, Known &known) {
  if (auto found = known.find(x); found != known.end())
    return found->second;
  Value found = findEntry(x, of, onVarying, known);
  known[x] = found;
  return found;
}

Value Exponentials::findEntry(Value x, llvm::function_ref<Value(Value)> of, bool onVarying, Known &known) {
  if (onVarying && !w.isVarying(x))
    return x;
  if (Writer::is<math::ExpOp, math::Exp2Op>(x))
    return withExponent(Writer::is<math::ExpOp>(x) ? Base::E : Base::Two, of(Writer::operand(x, 0)));
  if (Writer::is<MultiplyNoNanOp>(x) && exponential(x)) {
    Value first = entry(Writer::operand(x, 0), of, onVarying, known), second = entry(Writer::operand(x, 1), of, onVarying, known);
    return first && second ? multiplyNoNan(first, second) : Value();
  }
  Scaled found = positivelyScaled(x);
  Value inner = found ? entry(found.x, of, onVarying, known) : Value();
  return inner ? times(found.factor, inner) : Value();
}

Value Exponentials::leastOrLargest(Value x, Combiner combiner) {
  if (Writer::is<math::ExpOp, math::Exp2Op>(x))
    return withExponent(Writer::is<math::ExpOp>(x) ? Base::E : Base::Two, w.reduced(combiner, Writer::operand(x, 0)));
  Scaled found = positivelyScaled(x);
  Value inner = found ? leastOrLargest(found.x, combiner) : Value();
  return inner ? times(found.factor, inner) : Value();
}

Value Exponentials::orderedLike(Value x) {
  if (Writer::is<math::ExpOp, math::Exp2Op>(x))
    return Writer::operand(x, 0);
  Scaled found = positivelyScaled(x);
  return found ? orderedLike(found.x) : x;
}

// ---- products -----------------------------------------------------------------------------------

Value Exponentials::product(Value a, Value b) {
  if (Writer::isConstant(a) || Writer::isConstant(b))
    return times(a, b);
  Split first = split(a), second = split(b);
  if (!first.weight && !second.weight)
    return times(a, b);
  Value weight = first.weight && second.weight ? multiplyNoNan(first.weight, second.weight) : first.weight ? first.weight : second.weight;
  Value rest = first.rest && second.rest ? product(first.rest, second.rest) : first.rest ? first.rest : second.rest;
  return rest ? multiplyNoNan(weight, rest) : weight;
}

Value Exponentials::quotient(Value a, Value b) {
  Exponential known = exponential(b);
  if (!known)
    return w.write<arith::DivFOp>(a, b);
  Value reciprocal = withExponent(known.base, negated(known.exponent));
  // 1 / 0 is no weight that could lose: where both are masked, the numerator decides.
  return isWeight(a) ? multiplyNoNan(a, reciprocal) : product(reciprocal, a);
}

Value Exponentials::power(Value a, Value b) {
  Exponential known = exponential(a);
  std::optional<double> constant = Writer::floatOf(b);
  if (!known || constant == 0.0) // p ** 0 is 1, for p = 0 as well
    return w.write<math::PowFOp>(a, b);
  // A power that is no constant may be 0, and must give 1 for p = 0, so 0 * -inf = 0 in the
  // exponent: the power weighs.
  return withExponent(known.base, constant ? product(b, known.exponent) : multiplyNoNan(b, known.exponent));
}

/// x = weight * rest.
Exponentials::Split Exponentials::split(Value x) {
  if (isWeight(x))
    return {x, {}};
  if (Writer::is<MultiplyNoNanOp>(x))
    return {Writer::operand(x, 0), Writer::operand(x, 1)};
  Scaled factor = scaled(x);
  if (!factor && !Writer::is<arith::NegFOp, arith::DivFOp>(x))
    return {{}, x};
  auto [weight, rest] = split(factor ? factor.x : Writer::operand(x, 0));
  if (!weight || !rest)
    return {{}, x};
  if (factor)
    return {weight, product(factor.factor, rest)};
  return {weight, Writer::is<arith::NegFOp>(x) ? negated(rest) : quotient(rest, Writer::operand(x, 1))};
}

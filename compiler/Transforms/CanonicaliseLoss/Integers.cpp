// Integers.cpp - arithmetic of 32-bit integers that saturates.
#include "compiler/Transforms/CanonicaliseLoss/Integers.h"
#include <algorithm>
#include <cmath>
#include <limits>
using namespace mlir;
using namespace logitile;
using I = arith::CmpIPredicate;
using F = arith::CmpFPredicate;

namespace {
constexpr double kLeast = -0x1p31, kMost = 0x1p31 - 1;
constexpr double kExact = 0x1p53; // integers up to here are exact as f64
constexpr double kSlack = 512;    // a product of f32 near 2^31 errs by less
constexpr unsigned kReach = 8;    // how many ops back from a value are searched for its limits
} // namespace

Value Integers::write(Kind kind, Value a, Value b) {
  switch (kind) {
  case Kind::Add: return w.write<arith::AddIOp>(a, b);
  case Kind::Sub: return w.write<arith::SubIOp>(a, b);
  case Kind::Mul: return w.write<arith::MulIOp>(a, b);
  }
  llvm_unreachable("every kind is covered");
}

Value Integers::saturated(Kind kind, Value a, Value b) {
  Value wrapped = write(kind, a, b), result = wrapped;
  Bounds exact = resultOf(kind, limitsOf(a, kReach), limitsOf(b, kReach));
  if (exact.most > kMost)
    result = w.write<arith::SelectOp>(isBeyond(kind, wrapped, a, b, 1), w.integer(static_cast<int64_t>(kMost)), result);
  if (exact.least < kLeast)
    result = w.write<arith::SelectOp>(isBeyond(kind, wrapped, a, b, -1), w.integer(static_cast<int64_t>(kLeast)), result);
  limits[result] = {std::max(exact.least, kLeast), std::min(exact.most, kMost)};
  steps[result] = {kind, a, b};
  return result;
}

Value Integers::index(Value x) {
  Known<Value> wrapped, floats;
  Known<Bounds> bounds;
  Value index = modular(x, wrapped);
  Bounds exact = boundsOf(index, bounds);
  if (exact.least + 0x1p32 >= static_cast<double>(w.vocab) && exact.most < 0x1p32)
    return index;
  Value known = inFloats(index, floats);
  index = w.write<arith::SelectOp>(compare(F::OGE, known, w.number(kMost)), w.integer(static_cast<int64_t>(kMost)), index);
  return w.write<arith::SelectOp>(compare(F::OLE, known, w.number(kLeast)), w.integer(static_cast<int64_t>(kLeast)), index);
}

// ---- bounds -------------------------------------------------------------------------------------

/// The least and the largest number that a value may be.
Integers::Bounds Integers::limitsOf(Value x, unsigned reach) {
  const Bounds all{kLeast, kMost};
  const double vocab = static_cast<double>(w.vocab);
  if (auto known = limits.find(x); known != limits.end())
    return known->second;
  if (std::optional<int64_t> number = Writer::integerOf(x))
    return {static_cast<double>(*number), static_cast<double>(*number)};
  std::optional<Combiner> combiner = Writer::combinerOf(x);
  if (Writer::is<ColumnOp>(x) || combiner == Combiner::ArgMax || combiner == Combiner::ArgMin)
    return {0, vocab - 1};
  if (combiner == Combiner::Count)
    return {0, vocab};
  if (!Writer::is<arith::SelectOp, arith::MinSIOp, arith::MaxSIOp>(x) || reach == 0)
    return all;
  unsigned count = Writer::opOf(x)->getNumOperands();
  Bounds a = limitsOf(Writer::operand(x, count - 2), reach - 1), b = limitsOf(Writer::operand(x, count - 1), reach - 1);
  if (Writer::is<arith::SelectOp>(x))
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
  if (Writer::is<arith::MinSIOp>(x))
    return {std::min(a.least, b.least), std::min(a.most, b.most)};
  return {std::max(a.least, b.least), std::max(a.most, b.most)};
}

/// The bounds of an exact result; none where they are not exact themselves.
Integers::Bounds Integers::resultOf(Kind kind, Bounds a, Bounds b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Bounds result{};
  if (kind == Kind::Add)
    result = {a.least + b.least, a.most + b.most};
  else if (kind == Kind::Sub)
    result = {a.least - b.most, a.most - b.least};
  else {
    auto products = {a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most};
    result = {std::min(products), std::max(products)};
  }
  bool isExact = std::fabs(result.least) <= kExact && std::fabs(result.most) <= kExact;
  return isExact ? result : Bounds{-kInfinity, kInfinity};
}

/// The same of an expression of modular(), whose exact value may be beyond 32 bits.
Integers::Bounds Integers::boundsOf(Value x, Known<Bounds> &known) {
  if (auto found = known.find(x); found != known.end())
    return found->second;
  auto step = modularSteps.find(x);
  Bounds found{};
  if (step == modularSteps.end())
    found = limitsOf(x, kReach);
  else {
    auto [kind, a, b] = step->second;
    Bounds first = boundsOf(a, known), second = boundsOf(b, known);
    found = resultOf(kind, first, second);
  }
  known[x] = found;
  return found;
}

/// The sums, differences and products that a value is made of, none of which saturates.
Value Integers::modular(Value x, Known<Value> &known) {
  auto step = steps.find(x);
  if (step == steps.end())
    return x;
  if (Value found = known.lookup(x))
    return found;
  auto [kind, a, b] = step->second;
  Value first = modular(a, known), second = modular(b, known), found = write(kind, first, second);
  modularSteps[found] = {kind, first, second};
  known[x] = found;
  return found;
}

Value Integers::inFloats(Value x, Known<Value> &known) {
  if (Value found = known.lookup(x))
    return found;
  auto step = modularSteps.find(x);
  Value found;
  if (step == modularSteps.end())
    found = w.write<arith::SIToFPOp>(w.f32(), x);
  else {
    auto [kind, a, b] = step->second;
    Value first = inFloats(a, known), second = inFloats(b, known);
    found = kind == Kind::Add   ? w.write<arith::AddFOp>(first, second)
            : kind == Kind::Sub ? w.write<arith::SubFOp>(first, second)
                                : w.write<arith::MulFOp>(first, second);
  }
  known[x] = found;
  return found;
}

// ---- whether the exact result lies beyond what 32 bits hold -------------------------------------

Value Integers::compare(I predicate, Value a, Value b) { return w.write<arith::CmpIOp>(predicate, a, b); }
Value Integers::compare(F predicate, Value a, Value b) { return w.write<arith::CmpFOp>(predicate, a, b); }
Value Integers::both(Value a, Value b) { return w.write<arith::AndIOp>(a, b); }

bool Integers::isOn(Side side, Value x) {
  Bounds bounds = limitsOf(x, kReach);
  return side > 0 ? bounds.least >= 0 : bounds.most <= 0;
}

Value Integers::isBeyond(Kind kind, Value wrapped, Value a, Value b, Side side) {
  if (kind == Kind::Mul)
    return productBeyond(wrapped, a, b, side);
  if (kind == Kind::Sub)
    return movedBack(wrapped, a, b, side, -side);
  return isOn(side, a) ? movedBack(wrapped, b, a, side, side) : movedBack(wrapped, a, b, side, side);
}

/// A number was added that should move the sum to one side, and it moved to the other.
Value Integers::movedBack(Value wrapped, Value start, Value by, Side side, Side sideOfBy) {
  Value back = compare(side > 0 ? I::slt : I::sgt, wrapped, start);
  if (isOn(sideOfBy, by))
    return back;
  return both(back, compare(sideOfBy > 0 ? I::sgt : I::slt, by, w.integer(0)));
}

Value Integers::productBeyond(Value wrapped, Value a, Value b, Side side) {
  if (Writer::isConstant(a))
    std::swap(a, b);
  std::optional<int64_t> factor = Writer::integerOf(b);
  if (!factor)
    return estimateBeyond(wrapped, a, b, side);
  int64_t magnitude = *factor < 0 ? -*factor : *factor; // never 0: such a product is not beyond anything
  int64_t quotient = static_cast<int64_t>(side > 0 ? kMost : -kLeast) / magnitude;
  Side sideOfA = *factor > 0 ? side : -side;
  return compare(sideOfA > 0 ? I::sgt : I::slt, a, w.integer(sideOfA * quotient));
}

/// By the product in f32. Where that is too near to the limit, a product that came round has the
/// other sign.
Value Integers::estimateBeyond(Value wrapped, Value a, Value b, Side side) {
  Value first = w.write<arith::SIToFPOp>(w.f32(), a), second = w.write<arith::SIToFPOp>(w.f32(), b);
  Value estimate = w.write<arith::MulFOp>(first, second);
  auto reaches = [&](double limit) { return compare(side > 0 ? F::OGE : F::OLE, estimate, w.number(side * limit)); };
  Value cameRound = compare(side > 0 ? I::slt : I::sge, wrapped, w.integer(0));
  Value near = both(reaches(0x1p31 - kSlack), cameRound);
  return w.write<arith::OrIOp>(reaches(0x1p31 + kSlack), near);
}

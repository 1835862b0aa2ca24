// Arithmetic.cpp - simplifying constructors of elementwise operations. Rules are numbered as in
// docs/design/plan.md. Each result is built by constructors again, so the order of the rules does
// not matter.
#include "compiler/Expression/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
using namespace logitile;

namespace {
bool isFloat(NodeRef node) { return node->type == NodeType::Float; }
/// Operands of commutative operations stand in the order of their ids.
void order(NodeRef &a, NodeRef &b) {
  if (b->id < a->id)
    std::swap(a, b);
}
bool isPowerOfTwo(double value) {
  int exponent;
  return std::fabs(std::frexp(value, &exponent)) == 0.5;
}
} // namespace

NodeRef Graph::add(NodeRef a, NodeRef b) {
  if (a->isConstant() && b->isConstant())
    return constant(a->number + b->number, a->type);
  if (isFloat(a)) {
    if (a->isConstant(0))
      return b;
    if (b->isConstant(0))
      return a;
    if (b->is(NodeOp::Neg))
      return sub(a, b->operand(0));
    if (a->is(NodeOp::Neg))
      return sub(b, a->operand(0));
    if (a == b)
      return mul(constant(2), a);
  }
  order(a, b);
  return make(NodeOp::Add, {a, b}, a->type);
}

NodeRef Graph::sub(NodeRef a, NodeRef b) {
  if (a->isConstant() && b->isConstant())
    return constant(a->number - b->number, a->type);
  if (isFloat(a)) {
    if (b->isConstant(0))
      return a;
    if (a->isConstant(0))
      return neg(b);
    if (b->is(NodeOp::Neg))
      return add(a, b->operand(0));
    if (a == b && a->staysFinite) // of an infinite number it is NaN
      return constant(0);
    if (auto [rest, lse, addend] = splitLogSoftmax(a, b); rest && rest != a && addend->staysFinite)
      return sub(rest, lse);
  }
  return make(NodeOp::Sub, {a, b}, a->type);
}

NodeRef Graph::neg(NodeRef a) {
  if (a->isConstant())
    return constant(-a->number, a->type);
  if (isFloat(a)) {
    if (a->is(NodeOp::Neg))
      return a->operand(0);
    if (a->is(NodeOp::Sub))
      return negOfEntry(a, sub(a->operand(1), a->operand(0)));
    if (a->is(NodeOp::Mul) && a->operand(0)->isConstant())
      return negOfEntry(a, mul(neg(a->operand(0)), a->operand(1)));
  }
  return make(NodeOp::Neg, {a}, a->type);
}

/// 'negated' is -a. Where a was picked, -a is an entry as well, so that it is rounded as a is.
NodeRef Graph::negOfEntry(NodeRef a, NodeRef negated) {
  Origin entry = originOf(a);
  if (entry && !negated->operands.empty())
    origins.try_emplace(negated, Origin{neg(entry.value), entry.index});
  return negated;
}

/// constant * x, with the numbers of x drawn in.
NodeRef Graph::scaled(NodeRef factor, NodeRef x) {
  if (factor->isConstant(0))
    return constant(0);
  if (factor->isConstant(1))
    return x;
  if (factor->isConstant(-1))
    return neg(x);
  if (x->is(NodeOp::Neg))
    return mul(neg(factor), x->operand(0));
  if (x->is(NodeOp::Mul) && x->operand(0)->isConstant())
    return mul(constant(factor->number * x->operand(0)->number), x->operand(1));
  return make(NodeOp::Mul, {factor, x}, x->type);
}

NodeRef Graph::mul(NodeRef a, NodeRef b) {
  if (a->isConstant() && b->isConstant())
    return constant(a->number * b->number, a->type);
  if (!isFloat(a)) {
    order(a, b);
    return make(NodeOp::Mul, {a, b}, a->type);
  }
  if (a->isConstant())
    return scaled(a, b);
  if (b->isConstant())
    return scaled(b, a);
  if (a->is(NodeOp::Neg))
    return neg(mul(a->operand(0), b));
  if (b->is(NodeOp::Neg))
    return neg(mul(a, b->operand(0)));
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)}) // numbers move outward
    if (x->is(NodeOp::Mul) && x->operand(0)->isConstant())
      return mul(x->operand(0), mul(x->operand(1), y));
  if (a->isWeight && b->isWeight)
    order(a, b);
  if (a->isWeight)
    return multiplyNoNan(a, b); // rule 2
  if (b->isWeight)
    return multiplyNoNan(b, a);
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)}) // in a longer product the weight still wins
    if (x->is(NodeOp::MultiplyNoNan))
      return multiplyNoNan(x->operand(0), mul(x->operand(1), y));
  order(a, b);
  return make(NodeOp::Mul, {a, b}, NodeType::Float);
}

NodeRef Graph::multiplyNoNan(NodeRef weight, NodeRef value) {
  if (weight->isConstant() || value->isConstant())
    return mul(weight, value);
  if (weight->is(NodeOp::Neg))
    return neg(multiplyNoNan(weight->operand(0), value));
  if (value->is(NodeOp::Neg))
    return neg(multiplyNoNan(weight, value->operand(0)));
  if (weight->is(NodeOp::Mul) && weight->operand(0)->isConstant())
    return mul(weight->operand(0), multiplyNoNan(weight->operand(1), value));
  if (value->is(NodeOp::Mul) && value->operand(0)->isConstant())
    return mul(value->operand(0), multiplyNoNan(weight, value->operand(1)));
  return make(NodeOp::MultiplyNoNan, {weight, value}, NodeType::Float);
}

NodeRef Graph::div(NodeRef a, NodeRef b) {
  if (a->isConstant() && b->isConstant() && b->number != 0)
    return constant(a->number / b->number);
  if (b->isConstant(1))
    return a;
  if (a->isConstant(0))
    return constant(0);
  if (b->isConstant() && isPowerOfTwo(b->number))
    return mul(constant(1.0 / b->number), a);
  if (a->is(NodeOp::Neg))
    return neg(div(a->operand(0), b));
  if (a->varying && !b->varying) // rule 4: one rounding of the factor, the same for every use
    return mul(div(constant(1), b), a);
  if (b->is(NodeOp::Exp)) { // rule 3: keeps the rule of weights where 1 / p would be infinite
    NodeRef inverse = exp(neg(b->operand(0)));
    return a->isWeight ? multiplyNoNan(a, inverse) : mul(inverse, a);
  }
  return make(NodeOp::Div, {a, b}, NodeType::Float);
}

NodeRef Graph::pow(NodeRef a, NodeRef b) {
  if (b->isConstant(0))
    return constant(1);
  if (b->isConstant(1))
    return a;
  if (b->isConstant(2))
    return mul(a, a);
  if (b->isConstant(0.5))
    return sqrt(a);
  if (a->isConstant() && b->isConstant())
    return constant(std::pow(a->number, b->number));
  if (NodeRef exponent = exponentOf(a)) // rule 3
    return exp(mul(b, exponent));
  return make(NodeOp::Pow, {a, b}, NodeType::Float);
}

NodeRef Graph::exp(NodeRef a) {
  if (a->isConstant())
    return constant(std::exp(a->number));
  return make(NodeOp::Exp, {a}, NodeType::Float);
}
NodeRef Graph::log(NodeRef a) {
  if (a->isConstant())
    return constant(std::log(a->number));
  if (NodeRef exponent = exponentOf(a)) // rule 3
    return exponent;
  if (a->is(NodeOp::Sum))
    if (NodeRef exponent = exponentOf(a->operand(0)))
      return logsumexp(exponent);
  return make(NodeOp::Log, {a}, NodeType::Float);
}
NodeRef Graph::sqrt(NodeRef a) {
  if (a->isConstant())
    return constant(std::sqrt(a->number));
  if (NodeRef exponent = exponentOf(a)) // rule 3
    return exp(mul(constant(0.5), exponent));
  return make(NodeOp::Sqrt, {a}, NodeType::Float);
}

NodeRef Graph::unary(NodeOp op, NodeRef a) {
  switch (op) {
  case NodeOp::Exp: return exp(a);
  case NodeOp::Log: return log(a);
  case NodeOp::Sqrt: return sqrt(a);
  case NodeOp::ToFloat:
    if (a->isConstant())
      return constant(a->number);
    return make(op, {a}, NodeType::Float);
  case NodeOp::IsFinite:
  case NodeOp::IsNan:
    if (a->isConstant())
      return boolean(op == NodeOp::IsNan ? std::isnan(a->number) : std::isfinite(a->number));
    return make(op, {a}, NodeType::Bool);
  case NodeOp::Tanh:
    if (a->isConstant())
      return constant(std::tanh(a->number));
    break;
  case NodeOp::StopGradient:
    if (a->isConstant() || a->is(NodeOp::StopGradient))
      return a;
    break;
  case NodeOp::Abs:
    if (a->isConstant())
      return constant(std::fabs(a->number), a->type);
    break;
  default:
    break;
  }
  return make(op, {a}, a->type);
}

NodeRef Graph::maximum(NodeRef a, NodeRef b) {
  if (a == b)
    return a;
  order(a, b);
  return make(NodeOp::Maximum, {a, b}, a->type);
}
NodeRef Graph::minimum(NodeRef a, NodeRef b) {
  if (a == b)
    return a;
  order(a, b);
  return make(NodeOp::Minimum, {a, b}, a->type);
}
NodeRef Graph::clamp(NodeRef a, NodeRef low, NodeRef high) { return make(NodeOp::Clamp, {a, low, high}, a->type); }

NodeRef Graph::select(NodeRef condition, NodeRef a, NodeRef b) {
  if (condition->isConstant())
    return condition->number != 0 ? a : b;
  if (condition->is(NodeOp::Not))
    return select(condition->operand(0), b, a);
  if (a->is(NodeOp::Select) && a->operand(0) == condition) // a guard inside the same guard
    return select(condition, a->operand(1), b);
  if (b->is(NodeOp::Select) && b->operand(0) == condition)
    return select(condition, a, b->operand(2));
  if (a == b)
    return a;
  return make(NodeOp::Select, {condition, a, b}, a->type);
}

static bool holds(Predicate predicate, double a, double b) {
  switch (predicate) {
  case Predicate::Lt: return a < b;
  case Predicate::Le: return a <= b;
  case Predicate::Gt: return a > b;
  case Predicate::Ge: return a >= b;
  case Predicate::Eq: return a == b;
  case Predicate::Ne: return a != b;
  }
  llvm_unreachable("every predicate is covered");
}
NodeRef Graph::compare(Predicate predicate, NodeRef a, NodeRef b) {
  if (a->isConstant() && b->isConstant())
    return boolean(holds(predicate, a->number, b->number));
  return make(NodeOp::Compare, {a, b}, NodeType::Bool, [&](Node &node) { node.predicate = predicate; });
}

NodeRef Graph::logicalAnd(NodeRef a, NodeRef b) {
  if (a->isConstant())
    return a->number != 0 ? b : a;
  if (b->isConstant())
    return b->number != 0 ? a : b;
  if (a == b)
    return a;
  order(a, b);
  return make(NodeOp::And, {a, b}, NodeType::Bool);
}
NodeRef Graph::logicalOr(NodeRef a, NodeRef b) {
  if (a->isConstant())
    return a->number != 0 ? a : b;
  if (b->isConstant())
    return b->number != 0 ? b : a;
  if (a == b)
    return a;
  order(a, b);
  return make(NodeOp::Or, {a, b}, NodeType::Bool);
}
NodeRef Graph::logicalNot(NodeRef a) {
  if (a->isConstant())
    return boolean(a->number == 0);
  if (a->is(NodeOp::Not))
    return a->operand(0);
  return make(NodeOp::Not, {a}, NodeType::Bool);
}

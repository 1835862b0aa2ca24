// Centre.cpp - chooses the running maximum for each exponent and pivot, so that no large part is
// lost to rounding.
#include "compiler/Transforms/FormSweeps/Planner.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
using namespace logitile;

static bool isMinusInfinity(NodeRef node) { return node->isConstant(-std::numeric_limits<double>::infinity()); }

/// node = X + u with X finished at L: only unfinished uniform addends move.
std::optional<std::pair<NodeRef, NodeRef>> Planner::strip(NodeRef node, unsigned L) {
  if (level(node) <= L)
    return std::pair(node, g.constant(0));
  if (!node->varying)
    return std::pair(g.constant(0), node);
  std::pair key(node, L);
  if (auto known = stripped.find(key); known != stripped.end())
    return known->second;
  return stripped[key] = stripOnce(node, L);
}
std::optional<std::pair<NodeRef, NodeRef>> Planner::stripOnce(NodeRef node, unsigned L) {
  auto both = [&](NodeRef a, NodeRef b, auto join) -> std::optional<std::pair<NodeRef, NodeRef>> {
    auto x = strip(a, L), y = strip(b, L);
    if (!x || !y || !Graph::mayLeaveSum(*x, *y))
      return std::nullopt;
    return std::pair((g.*join)(x->first, y->first), (g.*join)(x->second, y->second));
  };
  switch (node->op) {
  case NodeOp::Add: return both(node->operand(0), node->operand(1), &Graph::add);
  case NodeOp::Sub:
    if (auto [rest, lse, addend] = g.splitLogSoftmax(node->operand(0), node->operand(1)); rest && rest != node->operand(0))
      return strip(g.add(g.sub(rest, lse), g.sub(addend, addend)), L); // what is not finite does not cancel
    return both(node->operand(0), node->operand(1), &Graph::sub);
  case NodeOp::Neg: {
    auto x = strip(node->operand(0), L);
    return x ? std::optional(std::pair(g.neg(x->first), g.neg(x->second))) : std::nullopt;
  }
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan:
  case NodeOp::Div:
    for (unsigned i : {0u, 1u}) {
      NodeRef varying = node->operand(i), factor = node->operand(1 - i);
      if (factor->varying || level(factor) > L || (node->is(NodeOp::Div) && i == 1))
        continue;
      auto x = strip(varying, L);
      if (!x)
        return std::nullopt;
      auto scale = [&](NodeRef y) { return i == 0 ? g.rebuild(node, {y, factor}) : g.rebuild(node, {factor, y}); };
      return std::pair(scale(x->first), g.timesAddend(x->second, scale));
    }
    return std::nullopt;
  case NodeOp::Select: { // a common addend of both branches; -inf absorbs it
    NodeRef condition = node->operand(0);
    if (level(condition) > L)
      return std::nullopt;
    auto x = strip(node->operand(1), L), y = strip(node->operand(2), L);
    if (!x || !y)
      return std::nullopt;
    NodeRef chosen = g.select(condition, x->first, y->first);
    if (x->second == y->second || isMinusInfinity(y->first))
      return std::pair(chosen, x->second);
    if (isMinusInfinity(x->first))
      return std::pair(chosen, y->second);
    return std::nullopt;
  }
  default: return std::nullopt;
  }
}

/// The running maximum for an exponent scale * base + addend. One base may serve several positive
/// scales.
std::optional<Planner::Shift> Planner::shift(NodeRef exponent, unsigned L) {
  auto [base, scale, addend] = canonical(exponent);
  if (level(base) > L || level(scale) > L)
    return std::nullopt;
  Accumulator accumulator;
  accumulator.kind = Accumulator::Kind::Max;
  accumulator.level = 1 + L;
  accumulator.base = base;
  return Shift{intern(accumulator), scale, addend};
}

bool Planner::hasFinishedReduction(NodeRef node) {
  return llvm::any_of(node->operands, [&](NodeRef operand) { return !operand->varying && level(operand) > 0; });
}

/// x = sum of coefficient * atom + addend, coefficients and addend uniform. A finished reduction
/// stays in its atom: (z - mean) / std never becomes z / std - mean / std.
std::pair<Planner::Affine, NodeRef> Planner::affine(NodeRef x, bool stops) {
  if (!x->varying)
    return {{}, x};
  std::pair key(x, stops);
  if (auto known = affines.find(key); known != affines.end())
    return known->second;
  return affines[key] = affineOnce(x, stops);
}
std::pair<Planner::Affine, NodeRef> Planner::affineOnce(NodeRef x, bool stops) {
  std::pair<Affine, NodeRef> itself{{{x->id, {x, g.constant(1), false}}}, g.constant(0)};
  if (stops && g.isUnderLogSumExp(x))
    return itself;
  bool isSum = x->is(NodeOp::Add) || x->is(NodeOp::Sub);
  if (isSum && !hasFinishedReduction(x)) {
    bool subtracts = x->is(NodeOp::Sub);
    auto [atoms, u] = affine(x->operand(0), stops);
    auto [others, v] = affine(x->operand(1), stops);
    for (auto &[id, other] : others) {
      if (subtracts)
        other.coefficient = g.neg(other.coefficient);
      auto [it, isNew] = atoms.try_emplace(id, other);
      if (isNew)
        continue;
      it->second.coefficient = g.add(it->second.coefficient, other.coefficient);
      it->second.weighs |= other.weighs;
    }
    return {atoms, subtracts ? g.sub(u, v) : g.add(u, v)};
  }
  NodeRef inner = nullptr, factor = nullptr;
  bool product = x->is(NodeOp::Mul) || x->is(NodeOp::MultiplyNoNan);
  if (x->is(NodeOp::Neg))
    inner = x->operand(0);
  else if (product && x->operand(0)->varying != x->operand(1)->varying) {
    inner = x->operand(x->operand(0)->varying ? 0 : 1);
    factor = x->operand(x->operand(0)->varying ? 1 : 0);
  } else if (x->is(NodeOp::Div) && !x->operand(1)->varying)
    inner = x->operand(0);
  if (!inner)
    return itself;
  auto scaled = [&](NodeRef c) { return factor ? g.mul(factor, c) : x->is(NodeOp::Neg) ? g.neg(c) : g.div(c, x->operand(1)); };
  auto [atoms, u] = affine(inner, stops);
  for (auto &[id, atom] : atoms) {
    atom.coefficient = scaled(atom.coefficient);
    atom.weighs |= x->is(NodeOp::MultiplyNoNan);
  }
  return {atoms, g.timesAddend(u, [&](NodeRef y) { return x->is(NodeOp::MultiplyNoNan) ? g.multiplyNoNan(factor, y) : scaled(y); })};
}

Planner::Written Planner::asWritten(NodeRef x) {
  if (auto known = written.find(x); known != written.end())
    return known->second;
  return written[x] = asWrittenOnce(x);
}
Planner::Written Planner::asWrittenOnce(NodeRef x) {
  if (!x->varying)
    return {g.constant(0), x, 0};
  bool isSum = x->is(NodeOp::Add) || x->is(NodeOp::Sub);
  if (isSum && !hasFinishedReduction(x)) {
    Written a = asWritten(x->operand(0)), b = asWritten(x->operand(1));
    size_t leaves = std::min<size_t>(a.leaves + b.leaves, 1 << 20); // operands may be shared many times over
    return x->is(NodeOp::Add) ? Written{g.add(a.rest, b.rest), g.add(a.addend, b.addend), leaves}
                              : Written{g.sub(a.rest, b.rest), g.sub(a.addend, b.addend), leaves};
  }
  if (x->is(NodeOp::Neg)) {
    Written a = asWritten(x->operand(0));
    return {g.neg(a.rest), g.neg(a.addend), a.leaves};
  }
  if (x->is(NodeOp::Div) && !x->operand(1)->varying) {
    Written a = asWritten(x->operand(0));
    auto times = [&](NodeRef y) { return g.mul(g.div(g.constant(1), x->operand(1)), y); };
    return {times(a.rest), g.timesAddend(a.addend, times), a.leaves};
  }
  bool isProduct = x->is(NodeOp::Mul) || x->is(NodeOp::MultiplyNoNan);
  if (isProduct && x->operand(0)->varying != x->operand(1)->varying) {
    unsigned inner = x->operand(0)->varying ? 0 : 1;
    Written a = asWritten(x->operand(inner));
    auto times = [&](NodeRef y) { return inner == 0 ? g.rebuild(x, {y, x->operand(1)}) : g.rebuild(x, {x->operand(0), y}); };
    return {times(a.rest), g.timesAddend(a.addend, times), a.leaves};
  }
  return {x, g.constant(0), 1};
}

/// The form of x where it is a positive multiple of one value that there is a logsumexp of, once
/// others have cancelled.
std::optional<Planner::Canonical> Planner::ofOneLogSumExp(NodeRef x) {
  auto [atoms, addend] = affine(x, /*stops=*/true);
  llvm::SmallVector<Scaled> left;
  for (auto &[id, scaled] : atoms)
    if (!scaled.coefficient->isConstant(0) || !scaled.atom->staysFinite)
      left.push_back(scaled);
  if (left.size() != 1 || left[0].atom == x || !left[0].coefficient->isPositive)
    return std::nullopt;
  auto [base, scale, inner] = canonical(left[0].atom);
  NodeRef factor = left[0].coefficient;
  return Canonical{base, g.mul(factor, scale), g.add(g.mul(factor, inner), addend)};
}

static bool isNothing(NodeRef coefficient) {
  bool isDifference = coefficient->is(NodeOp::Sub) && coefficient->operand(0) == coefficient->operand(1);
  return coefficient->isConstant(0) || isDifference;
}

/// x = scale * base + addend. The scale is the size of the factor that all atoms share, if its sign
/// is proved, else 1: the base of
/// -3 * z is -z. Values with a list are their own base: a list has them rounded, and the best of
/// them less their logsumexp is 0 where the others are far below.
Planner::Canonical Planner::canonical(NodeRef x) {
  if (g.hasList(x))
    return {x, g.constant(1), g.constant(0)};
  auto [atoms, addend] = affine(x);
  if (atoms.empty())
    return {g.constant(0), g.constant(1), addend};
  NodeRef first = atoms.begin()->second.coefficient;
  bool isNegative = g.neg(first)->isPositive;
  bool shared =
      (first->isPositive || isNegative) && llvm::all_of(atoms, [&](auto &atom) { return atom.second.coefficient == first; });
  Written form = asWritten(x);
  if (form.leaves != atoms.size())
    if (auto one = ofOneLogSumExp(x))
      return *one;
  bool hasCancelled = llvm::any_of(atoms, [](auto &atom) { return isNothing(atom.second.coefficient); });
  if (!shared && !hasCancelled)
    return {form.rest, g.constant(1), form.addend};
  NodeRef base = nullptr;
  for (auto &[id, scaled] : atoms) {
    auto [atom, coefficient, weighs] = scaled;
    bool hasCancelled = coefficient->isConstant(0); // what is not finite does not
    NodeRef part = shared ? atom : hasCancelled ? g.sub(atom, atom) : weighs ? g.multiplyNoNan(coefficient, atom) : g.mul(coefficient, atom);
    base = base ? g.add(base, part) : part;
  }
  if (shared && isNegative)
    return {g.neg(base), g.neg(first), addend};
  return {base, shared ? first : g.constant(1), addend};
}

Planner::Canonical Planner::underLogSumExp(NodeRef x) {
  auto [rest, u] = g.bare(x);
  auto placed = exponents.find(rest);
  Canonical form = placed == exponents.end() ? canonical(rest) : placed->second;
  form.addend = g.add(form.addend, u);
  return form;
}

/// A multiple of the exponents' base by a negative number, centred on the maximum of that: -2 * z
/// under exp(-z) is largest where z is smallest. Other multiples find that maximum themselves.
std::optional<Planner::Centred> Planner::centreOnExponents(NodeRef pivot, Accumulator *exponents) {
  if (!exponents)
    return std::nullopt;
  auto [atoms, addend] = affine(pivot);
  auto [baseAtoms, baseAddend] = affine(exponents->base);
  if (atoms.size() != 1 || baseAtoms.size() != 1 || atoms.begin()->first != baseAtoms.begin()->first || !baseAddend->isConstant(0))
    return std::nullopt;
  NodeRef of = atoms.begin()->second.coefficient, by = baseAtoms.begin()->second.coefficient;
  if (!of->isConstant() || !by->isConstant() || by->number >= 0)
    return std::nullopt;
  return Centred{{{g.div(of, by), exponents}}, addend};
}

/// pivot = sum of coefficient * (base - max) + rest + (sum of coefficient * max): every tensor of
/// logits is centred on its own running maximum.
Planner::Centred Planner::centre(NodeRef pivot, unsigned L, Accumulator *exponents) {
  if (!pivot->varying)
    return {{}, pivot};
  if (auto centred = centreOnExponents(pivot, exponents))
    return *centred;
  auto [base, scale, addend] = canonical(pivot);
  if (maximumOf(base) || pivot->isInput(InputKind::Logits)) {
    Accumulator accumulator;
    accumulator.kind = Accumulator::Kind::Max;
    accumulator.level = 1 + L;
    accumulator.base = base;
    return {{{scale, intern(accumulator)}}, addend};
  }
  NodeRef a = pivot->operands.empty() ? nullptr : pivot->operand(0);
  NodeRef b = pivot->operands.size() > 1 ? pivot->operand(1) : nullptr;
  if (pivot->is(NodeOp::Add) || pivot->is(NodeOp::Sub)) {
    if (hasFinishedReduction(pivot)) // z - mean: centred already
      return {{}, pivot};
    NodeRef sign = g.constant(pivot->is(NodeOp::Add) ? 1 : -1);
    Centred p = centre(a, L, exponents), q = centre(b, L, exponents);
    for (auto [coefficient, accumulator] : q.parts)
      p.parts.push_back({g.mul(sign, coefficient), accumulator});
    return {p.parts, g.add(p.rest, g.mul(sign, q.rest))};
  }
  auto scaled = [&](NodeRef inner, auto by) {
    Centred p = centre(inner, L, exponents);
    for (auto &part : p.parts)
      part.first = by(part.first);
    p.rest = by(p.rest);
    return p;
  };
  if (pivot->is(NodeOp::Neg))
    return scaled(a, [&](NodeRef x) { return g.neg(x); });
  if ((pivot->is(NodeOp::Mul) || pivot->is(NodeOp::MultiplyNoNan)) && !(a->varying && b->varying))
    return scaled(a->varying ? a : b, [&](NodeRef x) { return g.mul(x, a->varying ? b : a); });
  if (pivot->is(NodeOp::Div) && !b->varying)
    return scaled(a, [&](NodeRef x) { return g.div(x, b); });
  return {{}, pivot};
}

// Decompose.cpp - splits the body of a reduction into terms whose inside is finished, if that saves
// a sweep.
#include "compiler/Transforms/FormSweeps/Planner.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
using namespace logitile;

static bool isProduct(NodeRef node) { return node->is(NodeOp::Mul) || node->is(NodeOp::MultiplyNoNan); }
static bool isVaryingProduct(NodeRef node) { return isProduct(node) && node->operand(0)->varying && node->operand(1)->varying; }

/// Larger ones are not worth the sweep that they save.
static bool isSmall(llvm::ArrayRef<Term> terms) {
  constexpr size_t kMostTerms = 64, kMostFactors = 16;
  return terms.size() <= kMostTerms && llvm::all_of(terms, [](const Term &term) { return term.factors.size() <= kMostFactors; });
}

static Terms scale(Graph &g, Terms terms, NodeRef factor) {
  for (Term &term : terms)
    term.factor = g.mul(factor, term.factor);
  return terms;
}

/// A sum without the addends that cancel: added and subtracted as numbers, a large one leaves its
/// rounding. What is not finite does not cancel.
static NodeRef withoutCancelled(Graph &g, NodeRef sum) {
  constexpr size_t kMostParts = 64; // operands may be shared many times over
  llvm::SmallVector<std::pair<NodeRef, int>> todo{{sum, 1}};
  llvm::MapVector<NodeRef, int> counts;
  bool cancels = false;
  for (size_t i = 0; i < todo.size(); ++i) {
    auto [part, sign] = todo[i];
    bool isDifference = part->is(NodeOp::Sub);
    if (todo.size() > kMostParts)
      return sum;
    if (part->is(NodeOp::Neg)) {
      todo.push_back({part->operand(0), -sign});
    } else if (part->is(NodeOp::Add) || isDifference) {
      todo.push_back({part->operand(0), sign});
      todo.push_back({part->operand(1), isDifference ? -sign : sign});
    } else {
      int &count = counts[part];
      cancels |= count * sign < 0;
      count += sign;
    }
  }
  if (!cancels)
    return sum;
  NodeRef result = g.constant(0);
  for (auto [part, count] : counts) {
    if (count)
      result = g.add(result, g.mul(g.constant(count), part));
    else if (!part->staysFinite)
      result = g.add(result, g.sub(part, part));
  }
  return result;
}

Term Planner::join(const Term &a, const Term &b) {
  Term both;
  both.factor = g.mul(a.factor, b.factor);
  both.exponent = !a.exponent ? b.exponent : !b.exponent ? a.exponent : g.add(a.exponent, b.exponent);
  if (a.exponent && b.exponent)
    exponentsOfProducts.insert(both.exponent);
  both.addend = !a.addend ? b.addend : !b.addend ? a.addend : withoutCancelled(g, g.add(a.addend, b.addend));
  both.factors = a.factors;
  both.factors.append(b.factors.begin(), b.factors.end());
  return both;
}

/// Operands may be shared many times over: without a record, a loss of n products could take 2^n
/// steps.
std::optional<Terms> Planner::decompose(NodeRef node, unsigned L, bool top) {
  std::tuple key(node, L, top);
  if (auto known = decomposed.find(key); known != decomposed.end())
    return known->second;
  std::optional<Terms> terms = decomposeOnce(node, L, top);
  if (terms && !isSmall(*terms))
    terms = level(node) <= L ? std::optional(Terms{{g.constant(1), nullptr, nullptr, {node}}}) : std::nullopt;
  decomposed[key] = terms;
  return terms;
}

std::optional<Terms> Planner::decomposeOnce(NodeRef node, unsigned L, bool top) {
  NodeRef one = g.constant(1);
  if (!node->varying)
    return Terms{{node}};
  if (!top && level(node) <= L && !isVaryingProduct(node)) // finished factors stay inside the sums that they scale
    return Terms{{one, nullptr, nullptr, {node}}};
  if (isProduct(node))
    return decomposeProduct(node, L, top);
  NodeRef a = node->operands.empty() ? nullptr : node->operand(0);
  if (node->is(NodeOp::Neg)) {
    auto terms = decompose(a, L, top);
    return terms ? std::optional(scale(g, *terms, g.constant(-1))) : std::nullopt;
  }
  if (node->is(NodeOp::Div) && !node->operand(1)->varying) {
    auto terms = decompose(a, L, top);
    return terms ? std::optional(scale(g, *terms, g.div(one, node->operand(1)))) : std::nullopt;
  }
  if (level(node) <= L)
    return Terms{{one, nullptr, nullptr, {node}}};
  switch (node->op) {
  case NodeOp::Exp: {
    auto stripped = strip(a, L);
    if (!stripped)
      return std::nullopt;
    auto isLogSumExp = [](NodeRef part) { return part->is(NodeOp::LogSumExp); };
    bool isPower = stripped->first->isScaled() && stripped->second; // as of softmax(x) ** n
    if (isPower && llvm::any_of(Graph::topological(stripped->second), isLogSumExp))
      exponentsOfProducts.insert(stripped->first);
    return Terms{{one, stripped->first, stripped->second, {}}};
  }
  case NodeOp::Div: {
    if (level(node->operand(1)) > L)
      return std::nullopt;
    auto terms = decompose(a, L, top);
    if (!terms)
      return std::nullopt;
    for (Term &term : *terms)
      term.factors.push_back(g.div(one, node->operand(1)));
    return terms;
  }
  case NodeOp::Add:
  case NodeOp::Sub: {
    if (auto terms = decomposeLogSoftmax(node, L))
      return terms;
    // What is centred on a mean stays so: about any other point its sum would cancel.
    if (llvm::any_of(node->operands, [](NodeRef operand) { return operand->isScaledMean; }))
      return std::nullopt;
    auto p = decompose(a, L, top), q = decompose(node->operand(1), L, top);
    if (!p || !q)
      return std::nullopt;
    p->append(scale(g, *q, g.constant(node->is(NodeOp::Add) ? 1 : -1)));
    return regroup(*p, L);
  }
  case NodeOp::Select: return decomposeSelect(node, L, top);
  default: return std::nullopt;
  }
}

/// x - logsumexp(x) = scale * base + addend - logsumexp, with the base that the maximum is of:
/// entries and maximum cancel.
std::optional<Terms> Planner::decomposeLogSoftmax(NodeRef node, unsigned L) {
  if (!node->is(NodeOp::Sub))
    return std::nullopt;
  auto [x, lse, cancelled] = g.splitLogSoftmax(node->operand(0), node->operand(1));
  if (!x)
    return std::nullopt;
  auto [base, scale, addend] = canonical(x);
  if (!base->varying || level(base) > L)
    return std::nullopt;
  NodeRef rest = g.add(g.sub(addend, lse), g.sub(cancelled, cancelled)); // what is not finite does not cancel
  return regroup({{scale, nullptr, nullptr, {base}}, {rest}}, L);
}

/// At most one factor is split, and never beside one as large as logits: no square is expanded.
std::optional<Terms> Planner::decomposeProduct(NodeRef node, unsigned L, bool top) {
  NodeRef a = node->operand(0), b = node->operand(1);
  for (auto [uniform, varying] : {std::pair(a, b), std::pair(b, a)})
    if (!uniform->varying) {
      auto terms = decompose(varying, L, top);
      return terms ? std::optional(scale(g, *terms, uniform)) : std::nullopt;
    }
  auto p = decompose(a, L, false), q = decompose(b, L, false);
  if (!p || !q || (p->size() > 1 && q->size() > 1))
    return std::nullopt;
  const Terms &many = p->size() == 1 ? *q : *p;
  const Term &one = p->size() == 1 ? p->front() : q->front();
  if (many.size() > 1 && llvm::any_of(one.factors, [](NodeRef factor) { return factor->isUnbounded; }))
    return std::nullopt;
  Terms joined;
  for (const Term &term : many)
    joined.push_back(join(one, term));
  return joined;
}

/// A condition along the vocabulary stays inside; one per token is pulled out like any factor, in
/// front of all others: where it does not hold, they may be infinite.
std::optional<Terms> Planner::decomposeSelect(NodeRef node, unsigned L, bool top) {
  NodeRef condition = node->operand(0);
  if (condition->varying && level(condition) > L)
    return std::nullopt;
  Terms terms;
  for (auto [holds, value] : {std::pair(condition, node->operand(1)), std::pair(g.logicalNot(condition), node->operand(2))}) {
    if (value->isConstant(0))
      continue;
    auto branch = decompose(value, L, top);
    if (!branch)
      return std::nullopt;
    for (Term &term : *branch) {
      if (condition->varying)
        term.factors.push_back(holds);
      else
        term.factor = g.select(holds, term.factor, g.constant(0));
      terms.push_back(term);
    }
  }
  return regroup(terms, L);
}

/// factor = unfinished * finished.
std::pair<NodeRef, NodeRef> Planner::splitFinished(NodeRef factor, unsigned L) {
  if (level(factor) <= L)
    return {g.constant(1), factor};
  if (factor->is(NodeOp::Neg)) {
    auto [outer, inner] = splitFinished(factor->operand(0), L);
    return {g.neg(outer), inner};
  }
  if (isProduct(factor) || factor->is(NodeOp::Div)) {
    auto [outerA, innerA] = splitFinished(factor->operand(0), L);
    auto [outerB, innerB] = splitFinished(factor->operand(1), L);
    if (factor->is(NodeOp::Div))
      return {g.div(outerA, outerB), g.div(innerA, innerB)};
    return {g.mul(outerA, outerB), g.mul(innerA, innerB)};
  }
  return {factor, g.constant(1)};
}

/// 'value' times the numbers among 'factors', and 0 where one of the conditions does not hold,
/// whatever the numbers are.
NodeRef Planner::product(llvm::ArrayRef<NodeRef> factors, NodeRef value) {
  for (NodeRef factor : factors)
    if (factor->type == NodeType::Float)
      value = g.mul(value, factor);
  for (NodeRef factor : factors)
    if (factor->type == NodeType::Bool)
      value = g.select(factor, value, g.constant(0));
  return value;
}

/// Where all conditions among 'factors' hold; null if there is none.
NodeRef Planner::conditionOf(llvm::ArrayRef<NodeRef> factors) {
  NodeRef condition = nullptr;
  for (NodeRef factor : factors)
    if (factor->type == NodeType::Bool)
      condition = condition ? g.logicalAnd(condition, factor) : factor;
  return condition;
}

namespace {
using Powers = std::map<unsigned, double>; // by id
/// A uniform factor without its number: equal keys, factors that differ by a number.
struct Monomial {
  double number = 1;
  Powers powers;
};
/// Users before their operands: what is shared comes apart once, with the power that it has then.
Monomial monomialOf(NodeRef factor) {
  Monomial result;
  auto isLater = [](NodeRef a, NodeRef b) { return a->id > b->id; };
  std::map<NodeRef, double, decltype(isLater)> todo(isLater);
  todo[factor] = 1;
  while (!todo.empty()) {
    auto [node, power] = *todo.begin();
    todo.erase(todo.begin());
    if (isProduct(node)) {
      todo[node->operand(0)] += power;
      todo[node->operand(1)] += power;
    } else if (node->is(NodeOp::Neg)) {
      todo[node->operand(0)] += power;
      result.number *= std::pow(-1, power);
    } else if (node->is(NodeOp::Div)) {
      todo[node->operand(0)] += power;
      todo[node->operand(1)] -= power;
    } else if (node->isConstant()) {
      result.number *= std::pow(node->number, power);
    } else {
      result.powers[node->id] += power;
    }
  }
  return result;
}
} // namespace

/// Addends that are finished and share an unfinished factor are joined into one value; purely
/// uniform ones into one addend. Terms with an exponent stay as they are. Values as large as logits
/// stay apart from smaller ones: in one sum, the small ones would be rounded at the size of the
/// large ones.
Terms Planner::regroup(llvm::ArrayRef<Term> terms, unsigned L) {
  struct Group {
    NodeRef outer, value;
    NodeRef condition;        // 'value' is 0 where it does not hold; null if there is none
    const Term *only = nullptr; // the term, if it is alone
  };
  using Key = std::pair<Powers, bool>; // of the factor, and whether values are as large as logits
  std::map<Key, Group> plain;
  llvm::SmallVector<Key> order;
  NodeRef uniform = nullptr;
  Terms rest;
  for (const Term &term : terms) {
    if (term.exponent) {
      rest.push_back(term);
      continue;
    }
    if (term.factors.empty()) {
      uniform = uniform ? g.add(uniform, term.factor) : term.factor;
      continue;
    }
    auto [outer, inner] = splitFinished(term.factor, L);
    Monomial factor = monomialOf(outer);
    NodeRef value = product(term.factors, g.mul(g.constant(factor.number), inner)), condition = conditionOf(term.factors);
    Key key(factor.powers, value->isUnbounded);
    auto [it, isNew] = plain.try_emplace(key, Group{g.div(outer, g.constant(factor.number)), value, condition, &term});
    if (isNew) {
      order.push_back(key);
      continue;
    }
    Group &group = it->second;
    group.only = nullptr;
    group.value = g.add(group.value, value);
    group.condition = group.condition && condition ? g.logicalOr(group.condition, condition) : nullptr;
  }
  Terms result;
  for (const auto &key : order) {
    const Group &group = plain.at(key);
    if (group.only && group.only->factors.size() == 1 && maximumOf(group.only->factors[0])) { // its number stays outside, exactly
      result.push_back(*group.only);
      continue;
    }
    Term term{group.outer, nullptr, nullptr, {group.value}};
    if (group.condition && !group.outer->staysFinite) // the finish asks whether it holds anywhere
      term.factors.push_back(group.condition);
    result.push_back(term);
  }
  if (uniform)
    result.push_back({uniform});
  result.append(rest);
  return result;
}

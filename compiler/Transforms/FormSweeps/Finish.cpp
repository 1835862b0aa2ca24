// Finish.cpp - terms become accumulators, and the sum becomes a uniform expression of their
// results; or terms are joined to one value again.
#include "compiler/Transforms/FormSweeps/Planner.h"
#include "llvm/ADT/STLExtras.h"
using namespace logitile;

/// The only factor as large as logits gets a pivot, where its maximum is known: its large part
/// would round the sum. Where there is none, so does a multiple of what the exponent is made of,
/// which may be as large as a logsumexp is.
NodeRef Planner::pivotOf(const Term &term) {
  NodeRef base = term.exponent ? canonical(term.exponent).base : nullptr;
  auto isLarge = [](NodeRef factor) { return factor->isUnbounded; };
  auto isOfExponent = [&](NodeRef factor) { return factor->type == NodeType::Float && factor->varying && canonical(factor).base == base; };
  bool hasLarge = llvm::any_of(term.factors, isLarge);
  NodeRef pivot = nullptr;
  for (NodeRef factor : term.factors) {
    if (hasLarge ? !isLarge(factor) : !base || !isOfExponent(factor))
      continue;
    if (pivot)
      return nullptr;
    pivot = factor;
  }
  if (!pivot || pivot->isLinearInLogits)
    return pivot;
  return base && isCentrable(pivot, base) ? pivot : nullptr;
}

/// Whether all that is as large as logits in 'pivot' is linear in them, or a multiple of the
/// exponent's base: its maximum is known.
bool Planner::isCentrable(NodeRef pivot, NodeRef base) {
  constexpr size_t kMostParts = 16;
  llvm::SmallVector<NodeRef> parts{pivot};
  for (size_t i = 0; i < parts.size(); ++i) {
    NodeRef part = parts[i];
    if (!part->isUnbounded || part->isLinearInLogits || canonical(part).base == base)
      continue;
    bool isSum = (part->is(NodeOp::Add) || part->is(NodeOp::Sub)) && !hasFinishedReduction(part);
    bool isScaled = (part->is(NodeOp::Mul) || part->is(NodeOp::MultiplyNoNan)) && !(part->operand(0)->varying && part->operand(1)->varying);
    if (!isSum && !isScaled && !part->is(NodeOp::Neg))
      return false;
    parts.append(part->operands);
    if (parts.size() > kMostParts)
      return false;
  }
  return true;
}

llvm::SmallVector<Planner::Group> Planner::groupTerms(const Terms &terms) {
  llvm::SmallVector<Group> groups;
  for (const Term &term : terms) {
    NodeRef pivot = pivotOf(term);
    llvm::SmallVector<NodeRef, 2> factors;
    bool pivotSeen = false;
    for (NodeRef factor : term.factors) {
      if (factor == pivot && !pivotSeen)
        pivotSeen = true;
      else
        factors.push_back(factor);
    }
    llvm::sort(factors, [](NodeRef a, NodeRef b) { return a->id < b->id; });
    auto *known = llvm::find_if(groups, [&](const Group &group) {
      return group.exponent == term.exponent && group.addend == term.addend && group.factors == factors;
    });
    if (known == groups.end())
      known = &groups.emplace_back(Group{term.exponent, term.addend, factors, {}});
    known->parts.push_back({term.factor, pivot});
  }
  return groups;
}

namespace {
/// Finds the condition without which a factor is zero because no branch of it is taken; null where
/// there is none for each token.
class Guards {
public:
  explicit Guards(Graph &g) : g(g) {}

  NodeRef of(NodeRef factor) {
    if (auto known = found.find(factor); known != found.end())
      return known->second;
    return found[factor] = find(factor);
  }

private:
  NodeRef find(NodeRef factor) {
    auto operand = [&](unsigned i) { return of(factor->operand(i)); };
    switch (factor->op) {
    case NodeOp::Neg:
    case NodeOp::Div:
    case NodeOp::Sum:
    case NodeOp::Mean: return operand(0);
    case NodeOp::Select: return ofSelect(factor->operand(0), factor->operand(1), factor->operand(2));
    case NodeOp::Mul:
    case NodeOp::MultiplyNoNan: return both(operand(0), operand(1));
    case NodeOp::Add:
    case NodeOp::Sub: {
      NodeRef a = operand(0), b = operand(1);
      return a && b ? g.logicalOr(a, b) : nullptr;
    }
    default: return nullptr;
    }
  }
  NodeRef ofSelect(NodeRef condition, NodeRef taken, NodeRef other) {
    if (condition->varying)
      return nullptr;
    if (other->isConstant(0))
      return both(condition, of(taken));
    return taken->isConstant(0) ? both(g.logicalNot(condition), of(other)) : nullptr;
  }
  NodeRef both(NodeRef a, NodeRef b) { return a && b ? g.logicalAnd(a, b) : a ? a : b; }

  Graph &g;
  llvm::DenseMap<NodeRef, NodeRef> found; // walks of a graph that is no tree
};
/// 'value', which 'factor' makes 0 where 'guards' find that no branch is taken: what it is
/// multiplied with may be no number there.
NodeRef guarded(Graph &g, Guards &guards, NodeRef factor, NodeRef value) {
  NodeRef guard = guards.of(factor);
  return guard ? g.select(guard, value, g.constant(0)) : value;
}
/// Whether a uniform addend is a multiple of what may be as large as logits.
bool isLarge(NodeRef addend) {
  llvm::DenseSet<NodeRef> seen;
  llvm::SmallVector<NodeRef> todo{addend};
  while (!todo.empty()) {
    NodeRef node = todo.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (node->is(NodeOp::LogSumExp) || node->is(NodeOp::Mean) || node->is(NodeOp::Gather) || node->is(NodeOp::Accumulator))
      return true;
    bool isSum = node->is(NodeOp::Add) || node->is(NodeOp::Sub) || node->is(NodeOp::Neg);
    if (isSum || node->is(NodeOp::Mul) || node->is(NodeOp::MultiplyNoNan))
      todo.append(node->operands.begin(), node->operands.end());
  }
  return false;
}
/// A product as a number times other factors.
struct Product {
  double number = 1;
  llvm::SmallVector<NodeRef> factors = {};

  explicit Product(NodeRef node) { take(node); }
  NodeRef in(Graph &g) const {
    NodeRef product = g.constant(number);
    for (NodeRef factor : factors)
      product = g.mul(product, factor);
    return product;
  }

private:
  void take(NodeRef node) {
    if (node->isConstant())
      number *= node->number;
    else if (node->is(NodeOp::Neg))
      number = -number, take(node->operand(0));
    else if (node->is(NodeOp::Mul))
      take(node->operand(0)), take(node->operand(1));
    else
      factors.push_back(node);
  }
};
/// The sum of large products, which may cancel: so the factors that all of them share multiply what
/// is left.
NodeRef sumOfProducts(Graph &g, llvm::ArrayRef<NodeRef> addends) {
  llvm::SmallVector<Product> products;
  for (NodeRef addend : addends)
    if (!addend->isConstant(0))
      products.push_back(Product(addend));
  if (products.empty())
    return g.constant(0);
  double number = products.back().number; // that of a logsumexp: its maximum has no number of its own
  NodeRef common = g.constant(number);
  for (Product &product : products)
    product.number /= number;
  auto candidates = products.front().factors;
  for (NodeRef factor : candidates) {
    if (!llvm::all_of(products, [&](const Product &product) { return llvm::is_contained(product.factors, factor); }))
      continue;
    for (Product &product : products)
      product.factors.erase(llvm::find(product.factors, factor));
    common = g.mul(common, factor);
  }
  NodeRef sum = g.constant(0);
  for (const Product &product : products)
    sum = g.add(sum, product.in(g));
  return g.mul(common, sum);
}
} // namespace

/// The sum of 'plain' with (pivot - centre) as a further factor. One that is there already brings
/// its own centre, which may be another one than this pivot would get by now.
Accumulator *Planner::placeMoment(const Accumulator &plain, Accumulator *weights, NodeRef pivot) {
  Centred centred = centre(pivot, plain.level - 1, plain.max);
  Accumulator moment = plain;
  moment.pivot = pivot;
  moment.centre = centred.parts;
  moment.rest = centred.rest;
  bool moves = llvm::any_of(centred.parts, [&](auto &part) { return part.second->level == plain.level; });
  moment.weights = moves ? intern(plain, /*sameSweep=*/true) : weights;
  return intern(moment);
}

/// factor * sum. An infinite factor says nothing where the sum has no addend: conditions may hold
/// nowhere, and weights may all be 0.
NodeRef Planner::timesSum(NodeRef factor, Accumulator sum) {
  NodeRef product = g.mul(factor, resultOf(intern(sum)));
  NodeRef condition = conditionOf(sum.factors);
  if (factor->staysFinite || !condition)
    return product;
  Accumulator some;
  some.level = sum.level;
  if (sum.kind == Accumulator::Kind::Sum) {
    some.kind = Accumulator::Kind::Count;
    some.base = condition;
  } else {
    some = sum;
    some.pivot = some.rest = nullptr;
    some.centre.clear();
    some.weights = nullptr;
    llvm::erase_if(some.factors, [](NodeRef factor) { return factor->type != NodeType::Bool && !factor->isWeight; });
  }
  NodeRef size = resultOf(intern(some)), none = size->type == NodeType::Int ? g.integer(0) : g.constant(0);
  return g.select(g.compare(Predicate::Ne, size, none), product, g.constant(0));
}

/// 'product', or NaN where the exponential is 0 because the sum that it leaves is infinite:
/// exponents were so large that their rounding is beyond the range of an exponential.
NodeRef Planner::whereInRange(Accumulator &sum, NodeRef exponential, NodeRef product) {
  if (!sum.max->keepsRounding())
    return product;
  NodeRef vanishes = g.compare(Predicate::Eq, exponential, g.constant(0));
  NodeRef isBeyond = g.logicalAnd(vanishes, g.logicalNot(g.unary(NodeOp::IsFinite, resultOf(&sum))));
  return g.select(isBeyond, g.constant(std::numeric_limits<double>::quiet_NaN()), product);
}

NodeRef Planner::finish(const Terms &terms, unsigned L, bool isMean) {
  Guards guards(g);
  NodeRef total = g.constant(0), columns = g.constant(static_cast<double>(g.vocab));
  for (const Group &group : groupTerms(terms)) {
    Accumulator plain;
    plain.level = 1 + L;
    plain.kind = group.exponent ? Accumulator::Kind::Exp : Accumulator::Kind::Sum;
    plain.factors.assign(group.factors.begin(), group.factors.end());
    NodeRef outside = nullptr; // the exponential that leaves the sum
    if (group.exponent) {
      Shift by = *shift(group.exponent, L);
      plain.max = by.max;
      plain.max->isOfProduct |= exponentsOfProducts.contains(group.exponent);
      plain.scale = by.scale;
      NodeRef addend = group.addend ? g.add(group.addend, by.addend) : by.addend;
      outside = g.exp(g.add(g.mul(by.scale, resultOf(by.max)), addend));
    }
    bool unweighted = !group.exponent && group.factors.empty();
    Accumulator *weights = unweighted ? nullptr : intern(plain);

    // The sum is inner + uniform * weights. Under an exponential a pivot is centred on the maxima
    // when it is raw, or when an addend was pulled beside it; a body that is normalised already is
    // not. Plain sums keep their rounding instead.
    bool pulled = llvm::any_of(group.parts, [](auto &part) { return !part.second; });
    NodeRef inner = g.constant(0);
    llvm::SmallVector<NodeRef> large, small; // what is uniform
    for (auto [factor, pivot] : group.parts) {
      if (pivot && (!group.exponent || (!pulled && level(pivot) > 0))) {
        Accumulator whole = plain;
        whole.factors.push_back(pivot);
        inner = g.add(inner, guarded(g, guards, factor, timesSum(factor, whole)));
        continue;
      }
      if (pivot) {
        Accumulator *moment = placeMoment(plain, weights, pivot);
        inner = g.add(inner, guarded(g, guards, factor, timesSum(factor, *moment)));
        NodeRef shifted = g.constant(0);
        for (auto [coefficient, max] : moment->centre)
          shifted = g.add(shifted, g.mul(coefficient, resultOf(max)));
        large.insert(large.begin(), g.mul(factor, shifted));
        continue;
      }
      (isLarge(factor) ? large : small).push_back(factor);
    }
    NodeRef uniform = sumOfProducts(g, large); // what cancels comes first: beside it, the rest would be rounded away
    for (NodeRef addend : small)
      uniform = g.add(uniform, addend);
    if (unweighted) {
      total = g.add(total, isMean ? g.add(uniform, g.div(inner, columns)) : g.add(inner, g.mul(columns, uniform)));
      continue;
    }
    if (!uniform->isConstant(0)) // an empty sum wins over an infinite factor
      inner = g.add(inner, g.multiplyNoNan(resultOf(weights), uniform));
    if (outside)
      inner = guarded(g, guards, inner, whereInRange(*weights, outside, g.mul(outside, inner)));
    total = g.add(total, isMean ? g.div(inner, columns) : inner);
  }
  return total;
}

/// Takes the varying numbers that are factors of all terms out of them. The parts of a gradient may
/// cancel, so they are added before the derivatives of what they flow through multiply the sum.
static llvm::SmallVector<NodeRef> takeCommonFactors(Terms &terms) {
  llvm::SmallVector<NodeRef> common;
  if (terms.size() < 2)
    return common;
  auto isInAll = [&](NodeRef factor) { return llvm::all_of(terms, [&](const Term &term) { return llvm::is_contained(term.factors, factor); }); };
  auto candidates = terms.front().factors;
  for (NodeRef factor : candidates) {
    if (factor->type != NodeType::Float || !isInAll(factor))
      continue;
    for (Term &term : terms)
      term.factors.erase(llvm::find(term.factors, factor));
    common.push_back(factor);
  }
  return common;
}

NodeRef Planner::factored(NodeRef gradient) {
  level(gradient);
  if (!gradient->varying)
    return gradient;
  std::optional<Terms> terms = decompose(gradient, kCotangent - 1, /*top=*/true);
  if (!terms)
    return gradient;
  llvm::SmallVector<NodeRef> common = takeCommonFactors(*terms);
  Guards guards(g);
  NodeRef total = g.constant(0);
  for (const Term &term : *terms) {
    NodeRef value = product(term.factors, g.constant(1));
    if (term.exponent)
      value = g.mul(g.exp(term.addend ? g.add(term.exponent, term.addend) : term.exponent), value);
    total = g.add(total, guarded(g, guards, term.factor, g.mul(term.factor, value)));
  }
  for (NodeRef factor : common) // nothing times infinity is nothing, as it was in each term
    total = factor->staysFinite ? g.mul(total, factor) : g.multiplyNoNan(total, factor);
  return total;
}

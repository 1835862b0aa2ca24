// Reductions.cpp - simplifying constructors of operations that turn varying values into uniform
// ones.
#include "compiler/Expression/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>
using namespace logitile;

/// x = u * rest, with every uniform factor in u (rule 7).
Graph::Split Graph::hoist(NodeRef x) {
  if (!x->varying)
    return {x, constant(1)};
  if (auto it = hoisted.find(x); it != hoisted.end())
    return it->second;
  Split split = splitFactors(x);
  hoisted[x] = split;
  return split;
}
Graph::Split Graph::splitFactors(NodeRef x) {
  if (x->is(NodeOp::Neg)) {
    auto [u, rest] = hoist(x->operand(0));
    return {neg(u), rest};
  }
  if (!x->is(NodeOp::Mul) && !x->is(NodeOp::MultiplyNoNan) && !x->is(NodeOp::Div))
    return {constant(1), x};
  auto [ua, a] = hoist(x->operand(0));
  auto [ub, b] = hoist(x->operand(1));
  if (x->is(NodeOp::Div))
    return {div(ua, ub), div(a, b)};
  return {mul(ua, ub), x->is(NodeOp::MultiplyNoNan) ? multiplyNoNan(a, b) : mul(a, b)};
}

/// exp(a - lse(a)) for some a.
bool Graph::isSoftmax(NodeRef x) {
  bool isDifference = x->is(NodeOp::Exp) && x->operand(0)->is(NodeOp::Sub);
  return isDifference && splitLogSoftmax(x->operand(0)->operand(0), x->operand(0)->operand(1)).rest;
}

NodeRef Graph::sum(NodeRef x, bool verbatim) {
  if (hasOneEntry && x->varying) // the entry as all others see it: x - mean(x) is 0
    return gather(x, integer(0));
  auto [u, rest] = hoist(x);
  NodeRef entries = constant(static_cast<double>(vocab));
  if (!rest->varying)
    return mul(mul(entries, u), rest);
  if (verbatim)
    return mul(u, make(NodeOp::Sum, {rest}, NodeType::Float, [](Node &node) { node.index = 1; }));
  if (isSoftmax(rest))
    return u;
  if (rest->isLinearInLogits) // so that its large part can stay apart
    return mul(entries, mul(u, make(NodeOp::Mean, {rest}, NodeType::Float)));
  return mul(u, make(NodeOp::Sum, {rest}, NodeType::Float));
}

NodeRef Graph::mean(NodeRef x) {
  NodeRef total = sum(x);
  double entries = static_cast<double>(vocab);
  if (total->is(NodeOp::Mul) && total->operand(0)->isConstant())
    return mul(constant(total->operand(0)->number / entries), total->operand(1));
  return div(total, constant(entries));
}

/// x = rest + u, with every uniform addend in u that may leave its sum (rule 8). Under a factor, a
/// difference from a mean is centred and stays whole. So does what multiplies a factor that has a
/// gradient: of b in (z - z[y]) * b, that is a sum of products with z - z[y], while those with z
/// and with z[y] would cancel.
Graph::Split Graph::bare(NodeRef x) {
  if (!x->varying)
    return {constant(0), x};
  if (auto it = bared.find(x); it != bared.end())
    return it->second;
  Split split = splitAddends(x);
  bared[x] = split;
  return split;
}
Graph::Split Graph::splitAddends(NodeRef x) {
  if (x->is(NodeOp::Neg)) {
    auto [p, u] = bare(x->operand(0));
    return {neg(p), neg(u)};
  }
  if (x->is(NodeOp::Add) || x->is(NodeOp::Sub)) {
    Split a = bare(x->operand(0)), b = bare(x->operand(1));
    if (!mayLeaveSum(a, b))
      return {x, constant(0)};
    auto [p, u] = a;
    auto [q, v] = b;
    return x->is(NodeOp::Add) ? Split(add(p, q), add(u, v)) : Split(sub(p, q), sub(u, v));
  }
  bool product = x->is(NodeOp::Mul) || x->is(NodeOp::MultiplyNoNan);
  if (product && !(x->operand(0)->varying && x->operand(1)->varying)) {
    NodeRef factor = x->operand(0), y = x->operand(1);
    if (factor->varying)
      std::swap(factor, y);
    if (y->isCentred || factor->isDifferentiated)
      return {x, constant(0)};
    auto [p, u] = bare(y);
    return {rebuild(x, {factor, p}), timesAddend(u, [&](NodeRef part) { return rebuild(x, {factor, part}); })};
  }
  if (x->is(NodeOp::Select)) // -inf absorbs the addend of the other branch
    for (unsigned masked : {1u, 2u}) {
      if (!x->operand(masked)->isConstant(-std::numeric_limits<double>::infinity()))
        continue;
      auto [p, u] = bare(x->operand(3 - masked));
      if (!u->staysFinite)
        continue;
      NodeRef rest = masked == 1 ? select(x->operand(0), x->operand(1), p) : select(x->operand(0), p, x->operand(2));
      return {rest, u};
    }
  return {x, constant(0)};
}

/// Of an input, too.
Graph::Origin Graph::entryOf(NodeRef node) const {
  return node->is(NodeOp::Gather) ? Origin{node->operand(0), node->operand(1)} : originOf(node);
}

NodeRef Graph::timesAddend(NodeRef addend, llvm::function_ref<NodeRef(NodeRef)> times) {
  llvm::DenseMap<NodeRef, NodeRef> done; // sums may share operands many times over
  for (NodeRef node : topological(addend)) {
    if (Origin entry = entryOf(node)) {
      done[node] = gather(times(entry.value), entry.index);
      continue;
    }
    bool isSum = node->is(NodeOp::Add) || node->is(NodeOp::Sub) || node->is(NodeOp::Neg);
    if (!isSum || llvm::none_of(node->operands, [&](NodeRef operand) { return done.contains(operand); }))
      continue;
    llvm::SmallVector<NodeRef> parts;
    for (NodeRef operand : node->operands)
      parts.push_back(done.contains(operand) ? done[operand] : times(operand));
    done[node] = rebuild(node, parts);
  }
  return done.contains(addend) ? done[addend] : times(addend);
}

NodeRef Graph::logsumexp(NodeRef x) {
  if (!x->varying)
    return add(x, constant(std::log(static_cast<double>(vocab))));
  auto [rest, u] = bare(x);
  underLogSumExp.insert(rest);
  return add(make(NodeOp::LogSumExp, {rest}, NodeType::Float), u);
}

Graph::LogSoftmax Graph::splitLogSoftmax(NodeRef x, NodeRef lse) {
  if (!x->varying || lse->varying)
    return {};
  if (lse->is(NodeOp::LogSumExp) && lse->operand(0) == x)
    return {x, lse, constant(0)};
  if (!lse->is(NodeOp::Add) && !lse->is(NodeOp::Sub))
    return {};
  for (NodeRef operand : lse->operands) {
    if (!operand->is(NodeOp::LogSumExp))
      continue;
    auto [rest, u] = bare(x);
    if (operand->operand(0) == rest && add(operand, u) == lse)
      return {rest, operand, u};
  }
  return {};
}

/// The index is that of the simplest value with the same order: finite addends, the logsumexp of
/// the same values, positive factors and exp do not matter (rule 6). Less what is infinite, all
/// entries are infinite or no number.
NodeRef Graph::arg(NodeOp op, NodeRef x, bool isExact) {
  if (!x->varying) // of equal entries the first, of NaN too
    return integer(0);
  NodeOp other = op == NodeOp::ArgMax ? NodeOp::ArgMin : NodeOp::ArgMax;
  if (x->is(NodeOp::Exp))
    return arg(op, x->operand(0), isExact);
  if (x->is(NodeOp::Neg))
    return arg(other, x->operand(0), isExact);
  if (x->operands.size() == 2 && !(x->operand(0)->varying && x->operand(1)->varying)) {
    NodeRef a = x->operand(0), b = x->operand(1);
    if (x->is(NodeOp::Sub))
      if (LogSoftmax parts = splitLogSoftmax(a, b); parts.rest)
        return isExact ? argOfLogSoftmax(op, parts) : arg(op, parts.rest);
    if (x->is(NodeOp::Add) || x->is(NodeOp::Sub)) {
      if (!(b->varying ? a : b)->staysFinite)
        return make(op, {x}, NodeType::Int);
      return b->varying ? arg(x->is(NodeOp::Add) ? op : other, b, isExact) : arg(op, a, isExact);
    }
    bool product = x->is(NodeOp::Mul) || x->is(NodeOp::MultiplyNoNan);
    if ((product || x->is(NodeOp::Div)) && !b->varying && b->isPositive)
      return arg(op, a, isExact);
    if (product && !a->varying && a->isPositive)
      return arg(op, b, isExact);
  }
  return make(op, {x}, NodeType::Int);
}

/// Where a value is NaN all log-probabilities are, so that the first is meant. Where the largest is
/// infinite, its log-probability is NaN, and that is the smallest too.
NodeRef Graph::argOfLogSoftmax(NodeOp op, const LogSoftmax &parts) {
  auto [rest, lse, addend] = parts;
  NodeRef index = arg(op, rest);
  if (rest->isMasked && addend->staysFinite)
    return index;
  NodeRef best = arg(NodeOp::ArgMax, rest), largest = gather(rest, best);
  if (op == NodeOp::ArgMin)
    index = select(compare(Predicate::Eq, largest, constant(std::numeric_limits<double>::infinity())), best, index);
  return select(unary(NodeOp::IsNan, add(largest, sub(addend, addend))), integer(0), index);
}

/// Whether all entries of x are NaN where one of 'part' is: they have its logsumexp in them.
static bool isNanWith(NodeRef x, NodeRef part) {
  llvm::DenseSet<NodeRef> found;
  for (NodeRef node : Graph::topological(x)) {
    bool isSource = node->is(NodeOp::LogSumExp) && node->operand(0) == part;
    bool passesOn = node->is(NodeOp::Add) || node->is(NodeOp::Sub) || node->is(NodeOp::Mul) || node->is(NodeOp::Div) ||
                    node->is(NodeOp::Neg) || node->is(NodeOp::Exp);
    if (isSource || (passesOn && llvm::any_of(node->operands, [&](NodeRef operand) { return found.contains(operand); })))
      found.insert(node);
  }
  return found.contains(x);
}
static bool isArg(NodeRef index) { return index->is(NodeOp::ArgMax) || index->is(NodeOp::ArgMin); }

NodeRef Graph::sumList(NodeRef list, int64_t places) {
  if (list->places == 0)
    return mul(constant(static_cast<double>(places)), list);
  return make(NodeOp::SumList, {list}, NodeType::Float);
}

NodeRef Graph::count(NodeRef condition) {
  if (!condition->varying)
    return select(condition, integer(vocab), integer(0));
  return make(NodeOp::Count, {condition}, NodeType::Int);
}

NodeRef Graph::top(NodeOp op, NodeRef x, int64_t places) {
  auto [rest, u] = bare(x);
  bool isLogSoftmax = x->is(NodeOp::Sub) && splitLogSoftmax(x->operand(0), x->operand(1)).rest;
  if (!u->staysFinite && !isLogSoftmax) { // the order is not that of the rest
    rest = x;
    u = constant(0);
  }
  underLists.insert(rest);
  NodeRef list = make(op, {rest}, op == NodeOp::Top ? NodeType::Float : NodeType::Int, [&](Node &node) {
    node.index = places;
    node.varying = op == NodeOp::Top;
    node.places = op == NodeOp::Top ? 0 : places;
  });
  return op == NodeOp::Top ? add(list, u) : list;
}

NodeRef Graph::gather(NodeRef x, NodeRef index) {
  llvm::DenseMap<NodeRef, NodeRef> done;
  return gatherOnce(x, index, done);
}
NodeRef Graph::gatherOnce(NodeRef x, NodeRef index, llvm::DenseMap<NodeRef, NodeRef> &done) {
  if (x->isListed())
    return make(NodeOp::Gather, {x, index}, x->type, [](Node &node) { node.places = 0; });
  if (!x->varying)
    return x;
  if (x->is(NodeOp::Column))
    return index;
  if (index->is(NodeOp::Select)) {
    NodeRef condition = index->operand(0), taken = index->operand(1), other = index->operand(2);
    if (condition->is(NodeOp::IsNan) && isNanWith(x, entryOf(condition->operand(0)).value)) // whichever entry is taken
      return gather(x, other);
    // What is best is carried along in the sweep that finds its index; what a selection names waits
    // for another sweep.
    if (isArg(taken) || isArg(other))
      return select(condition, gather(x, taken), gather(x, other));
  }
  if (x->isVaryingInput())
    return make(NodeOp::Gather, {x, index}, x->type);
  if (NodeRef known = done.lookup(x))
    return known;
  llvm::SmallVector<NodeRef> operands; // rule 5
  for (NodeRef operand : x->operands)
    operands.push_back(gatherOnce(operand, index, done));
  NodeRef picked = rebuild(x, operands);
  if (!picked->is(NodeOp::Gather) && !picked->operands.empty())
    origins.try_emplace(picked, Origin{x, index});
  done[x] = picked;
  return picked;
}

NodeRef Graph::constantAt(NodeRef x, NodeRef index) {
  NodeRef entry = gatherOnce(x, index, entries[index]);
  return entry->isConstant() ? entry : nullptr;
}

NodeRef Graph::branchAt(NodeRef select, NodeRef index) {
  if (!select->is(NodeOp::Select))
    return nullptr;
  NodeRef condition = constantAt(select->operand(0), index);
  return condition ? select->operand(condition->number != 0 ? 1 : 2) : nullptr;
}

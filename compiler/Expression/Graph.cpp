// Graph.cpp - interning of nodes, and what can be read off them. Simplification is in
// Arithmetic.cpp and Reductions.cpp.
#include "compiler/Expression/Facts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>
using namespace logitile;

void Node::Profile(llvm::FoldingSetNodeID &id) const {
  id.AddInteger(static_cast<unsigned>(op));
  id.AddInteger(static_cast<unsigned>(type));
  for (NodeRef operand : operands)
    id.AddInteger(operand->id);
  id.AddInteger(llvm::bit_cast<uint64_t>(number)); // bits: 0 and -0 differ, NaN equals itself
  id.AddInteger(static_cast<unsigned>(kind));
  id.AddString(name);
  id.AddInteger(index);
  id.AddInteger(places);
  id.AddInteger(static_cast<unsigned>(predicate));
}

// ---- facts --------------------------------------------------------------------------------------

static bool has(const Node &node, unsigned fact) { return factsOf(node.op) & fact; }

static bool findWeight(const Node &node) {
  return isWeightBy(
      weightRuleOf(node.op), [&](unsigned i) { return node.operand(i)->isWeight; }, [&](unsigned i) { return node.operand(i)->isConstant(); });
}

static bool findPositive(const Node &node) {
  auto positive = [](NodeRef x) { return x->isPositive; };
  if (has(node, Fact::Positive) || (has(node, Fact::PositiveIfOperand) && node.operand(0)->isPositive))
    return true;
  switch (node.op) {
  case NodeOp::Constant: return node.number > 0;
  case NodeOp::Uniform: return true;
  case NodeOp::Maximum: return llvm::any_of(node.operands, positive);
  case NodeOp::Add: return node.isNonNegative && llvm::any_of(node.operands, positive);
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan:
  case NodeOp::Div: return llvm::all_of(node.operands, positive);
  default: return false;
  }
}

/// Beside what is positive.
static bool findNonNegative(const Node &node) {
  auto nonNegative = [](NodeRef x) { return x->isNonNegative || x->isPositive; };
  switch (node.op) {
  case NodeOp::Abs:
  case NodeOp::Count: return true;
  case NodeOp::Constant: return node.number == 0;
  case NodeOp::ToFloat: return nonNegative(node.operand(0));
  case NodeOp::Mul: return node.operand(0) == node.operand(1) || llvm::all_of(node.operands, nonNegative);
  case NodeOp::Maximum: return llvm::any_of(node.operands, nonNegative);
  case NodeOp::Add:
  case NodeOp::MultiplyNoNan:
  case NodeOp::Div: return llvm::all_of(node.operands, nonNegative);
  default: return false;
  }
}

static bool findLinear(const Node &node) {
  auto linear = [](NodeRef x) { return x->isLinearInLogits; };
  switch (node.op) {
  case NodeOp::Input: return node.kind == InputKind::Logits;
  case NodeOp::Add:
  case NodeOp::Sub:
  case NodeOp::Neg:
  case NodeOp::Select: return llvm::any_of(node.operands, linear);
  case NodeOp::Div: return linear(node.operand(0)) && !node.operand(1)->varying;
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan: {
    NodeRef a = node.operand(0), b = node.operand(1);
    return (linear(a) && !b->varying) || (linear(b) && !a->varying);
  }
  default: return false;
  }
}

static bool findUnbounded(const Node &node) {
  if (node.is(NodeOp::MultiplyNoNan) && node.operand(0)->varying) // a weight that vanishes wins
    return false;
  if (has(node, Fact::Unbounded) && node.operand(0)->isUnbounded)
    return true;
  switch (node.op) {
  case NodeOp::MultiplyNoNan:
  case NodeOp::Input: return node.kind == InputKind::Logits;
  case NodeOp::Add:
  case NodeOp::Sub:
  case NodeOp::Neg:
  case NodeOp::Mul:
  case NodeOp::Div:
  case NodeOp::Abs:
  case NodeOp::Maximum:
  case NodeOp::Minimum:
  case NodeOp::Pow:
  case NodeOp::Select:
  case NodeOp::Clamp: return llvm::any_of(node.operands, [](NodeRef x) { return x->isUnbounded; });
  default: return false;
  }
}

static bool findScaledMean(const Node &node) {
  auto scaledMean = [](NodeRef x) { return x->isScaledMean; };
  switch (node.op) {
  case NodeOp::Mean: return true;
  case NodeOp::Neg:
  case NodeOp::Div: return scaledMean(node.operand(0));
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan: return !node.varying && llvm::any_of(node.operands, scaledMean);
  default: return false;
  }
}

/// Sums, products and choices of these are as large as they are.
static bool findEntry(const Node &node) {
  if (node.varying)
    return false;
  switch (node.op) {
  case NodeOp::Gather: {
    NodeRef from = node.operand(0);
    return from->is(NodeOp::Top) ? from->operand(0)->isUnbounded : from->isUnbounded;
  }
  case NodeOp::Mean: return node.operand(0)->isUnbounded;
  case NodeOp::Add:
  case NodeOp::Sub:
  case NodeOp::Neg:
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan:
  case NodeOp::Div:
  case NodeOp::Maximum:
  case NodeOp::Minimum:
  case NodeOp::Select:
  case NodeOp::StopGradient: return llvm::any_of(node.operands, [](NodeRef x) { return x->isEntry; });
  default: return false;
  }
}

/// Numbers that a caller gives may be infinite, and so may quotients, exponentials and logarithms
/// of finite ones.
static bool findStaysFinite(const Node &node) {
  if (node.type != NodeType::Float)
    return true;
  if (has(node, Fact::Overflows))
    return false;
  switch (node.op) {
  case NodeOp::Constant: return std::isfinite(node.number);
  case NodeOp::Input: return node.kind == InputKind::Logits || node.kind == InputKind::Cotangent;
  case NodeOp::Div:
  case NodeOp::Pow:
  case NodeOp::Accumulator:
  case NodeOp::Pair: return false;
  default: return llvm::all_of(node.operands, [](NodeRef x) { return x->staysFinite; });
  }
}

static bool findMasked(const Node &node) {
  if (node.staysFinite || node.isConstant(-std::numeric_limits<double>::infinity()))
    return true;
  bool keeps = node.is(NodeOp::Select) || node.is(NodeOp::Add) || node.is(NodeOp::Maximum);
  return keeps && llvm::all_of(node.operands, [](NodeRef x) { return x->isMasked; });
}

static void findFacts(Node &node) {
  node.isDifferentiated |= llvm::any_of(node.operands, [](NodeRef x) { return x->isDifferentiated; });
  node.staysFinite = findStaysFinite(node);
  node.isMasked = findMasked(node);
  node.isWeight = findWeight(node);
  node.isNonNegative = findNonNegative(node);
  node.isPositive = findPositive(node);
  node.isScaledMean = findScaledMean(node);
  node.isEntry = findEntry(node);
  bool isSum = node.is(NodeOp::Add) || node.is(NodeOp::Sub);
  node.isCentred = isSum && llvm::any_of(node.operands, [](NodeRef x) { return x->isScaledMean || x->isCentred; });
  if (!node.varying)
    return;
  node.isLinearInLogits = findLinear(node);
  node.isUnbounded = findUnbounded(node);
  node.dependsOnLogits = node.isInput(InputKind::Logits) || llvm::any_of(node.operands, [](NodeRef x) { return x->dependsOnLogits; });
}

NodeRef Graph::exponentOf(NodeRef node) {
  if (node->is(NodeOp::Exp))
    return node->operand(0);
  if (!node->is(NodeOp::MultiplyNoNan))
    return nullptr;
  if (auto it = exponents.find(node); it != exponents.end())
    return it->second;
  NodeRef a = exponentOf(node->operand(0)), b = exponentOf(node->operand(1));
  NodeRef both = a && b ? add(a, b) : nullptr;
  exponents[node] = both;
  return both;
}

// ---- interning ----------------------------------------------------------------------------------

NodeRef Graph::make(NodeOp op, llvm::ArrayRef<NodeRef> operands, NodeType type, llvm::function_ref<void(Node &)> fill) {
  Node probe(loc);
  probe.op = op;
  probe.type = type;
  probe.operands.assign(operands.begin(), operands.end());
  probe.varying = op < NodeOp::Sum && llvm::any_of(operands, [](NodeRef operand) { return operand->varying; });
  for (NodeRef operand : operands)
    if (op != NodeOp::SumList)
      probe.places = std::max(probe.places, operand->places);
  if (fill)
    fill(probe);
  llvm::FoldingSetNodeID key;
  probe.Profile(key);
  void *where = nullptr;
  if (Node *known = table.FindNodeOrInsertPos(key, where))
    return known;
  probe.id = count_++;
  findFacts(probe);
  Node *node = new (storage.Allocate()) Node(std::move(probe));
  table.InsertNode(node, where);
  return node;
}

NodeRef Graph::constant(double value, NodeType type) {
  float high = static_cast<float>(value), low = static_cast<float>(value - high);
  if (type == NodeType::Float && std::isfinite(low))
    value = static_cast<double>(high) + low;
  return make(NodeOp::Constant, {}, type, [&](Node &node) { node.number = value; });
}
NodeRef Graph::input(InputKind kind, llvm::StringRef name, int64_t index, NodeType type, int64_t places) {
  llvm::StringRef interned = mlir::StringAttr::get(context, name).getValue();
  return make(NodeOp::Input, {}, type, [&](Node &node) {
    node.kind = kind;
    node.name = interned;
    node.index = index;
    node.places = places;
    node.varying = kind == InputKind::Logits || kind == InputKind::Vocab || kind == InputKind::Dense;
    node.isDifferentiated = differentiated.contains(name);
  });
}
NodeRef Graph::column() {
  return make(NodeOp::Column, {}, NodeType::Int, [](Node &node) { node.varying = true; });
}
NodeRef Graph::uniform(llvm::ArrayRef<NodeRef> words) { return make(NodeOp::Uniform, words, NodeType::Float); }
NodeRef Graph::accumulator(unsigned number, NodeType type, bool isList, int64_t places) {
  return make(NodeOp::Accumulator, {}, type, [&](Node &node) {
    node.index = number;
    node.varying = isList;
    node.places = places;
  });
}
NodeRef Graph::pair(NodeRef large, NodeRef small) { return make(NodeOp::Pair, {large, small}, NodeType::Float); }

llvm::SmallVector<NodeRef> Graph::topological(llvm::ArrayRef<NodeRef> roots) {
  llvm::DenseSet<NodeRef> seen;
  llvm::SmallVector<NodeRef> todo(roots), order;
  while (!todo.empty()) {
    NodeRef node = todo.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    order.push_back(node);
    todo.append(node->operands.begin(), node->operands.end());
  }
  llvm::sort(order, [](NodeRef a, NodeRef b) { return a->id < b->id; });
  return order;
}

NodeRef Graph::rebuild(NodeRef node, llvm::ArrayRef<NodeRef> x) {
  switch (node->op) {
  case NodeOp::Add: return add(x[0], x[1]);
  case NodeOp::Sub: return sub(x[0], x[1]);
  case NodeOp::Neg: return neg(x[0]);
  case NodeOp::Mul: return mul(x[0], x[1]);
  case NodeOp::MultiplyNoNan: return multiplyNoNan(x[0], x[1]);
  case NodeOp::Div: return div(x[0], x[1]);
  case NodeOp::Pow: return pow(x[0], x[1]);
  case NodeOp::Maximum: return maximum(x[0], x[1]);
  case NodeOp::Minimum: return minimum(x[0], x[1]);
  case NodeOp::Clamp: return clamp(x[0], x[1], x[2]);
  case NodeOp::Select: return select(x[0], x[1], x[2]);
  case NodeOp::Compare: return compare(node->predicate, x[0], x[1]);
  case NodeOp::And: return logicalAnd(x[0], x[1]);
  case NodeOp::Or: return logicalOr(x[0], x[1]);
  case NodeOp::Not: return logicalNot(x[0]);
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows) case NodeOp::Node:
#include "compiler/Expression/ScalarOps.def"
  case NodeOp::Abs:
  case NodeOp::ToFloat:
  case NodeOp::IsFinite:
  case NodeOp::IsNan: return unary(node->op, x[0]);
  case NodeOp::Uniform: return uniform(x);
  case NodeOp::SumList: return sumList(x[0], node->operand(0)->places);
  case NodeOp::Sum: return sum(x[0], node->isVerbatim());
  case NodeOp::Mean: return mean(x[0]);
  case NodeOp::LogSumExp: return logsumexp(x[0]);
  case NodeOp::ArgMax:
  case NodeOp::ArgMin: return arg(node->op, x[0]);
  case NodeOp::Count: return count(x[0]);
  case NodeOp::Top:
  case NodeOp::ArgTop: return top(node->op, x[0], node->index);
  case NodeOp::Gather:
    return gather(x[0], x[1]);
  case NodeOp::Pair: return pair(x[0], x[1]);
  case NodeOp::Constant:
  case NodeOp::Input:
  case NodeOp::Column:
  case NodeOp::Accumulator:
    return node;
  }
  llvm_unreachable("every operation has a constructor");
}

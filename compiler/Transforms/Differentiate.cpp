// Differentiate.cpp - reverse mode on the scalar body of a loss: one walk from outputs to inputs.
// FormSweeps finds the number of sweeps of the gradient.
#include "compiler/Expression/Import.h"
#include "compiler/Passes.h"
#include "dialect/checks/Varying.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "compiler/Passes.h.inc"

namespace {
/// The gradient of one input: a dense part, and rows (column, coefficient) that picks leave.
struct Gradient {
  NodeRef input;
  NodeRef dense = nullptr;
  SmallVector<std::pair<NodeRef, NodeRef>> rows;
};

/// Whether no gradient flows through an operation although its result is a float.
bool isFlat(NodeOp op) {
  switch (op) {
#define LOGITILE_SMOOTH(Node, Op, Facts, Slope)
#define LOGITILE_FLAT(Node, Op, Facts) case NodeOp::Node:
#include "compiler/Expression/ScalarOps.def"
  case NodeOp::Top: // lists carry no gradient
  case NodeOp::ToFloat: return true;
#define LOGITILE_SMOOTH(Node, Op, Facts, Slope) case NodeOp::Node:
#define LOGITILE_FLAT(Node, Op, Facts)
#include "compiler/Expression/ScalarOps.def"
  case NodeOp::Add:
  case NodeOp::Sub:
  case NodeOp::Neg:
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan:
  case NodeOp::Div:
  case NodeOp::Pow:
  case NodeOp::Abs:
  case NodeOp::Maximum:
  case NodeOp::Minimum:
  case NodeOp::Clamp:
  case NodeOp::Select:
  case NodeOp::SumList:
  case NodeOp::Sum:
  case NodeOp::Mean:
  case NodeOp::LogSumExp:
  case NodeOp::Gather:
  case NodeOp::Constant: // without operands that are floats
  case NodeOp::Input:
  case NodeOp::Column:
  case NodeOp::Uniform:
  case NodeOp::And: // whose results are no floats
  case NodeOp::Or:
  case NodeOp::Not:
  case NodeOp::Compare:
  case NodeOp::IsFinite:
  case NodeOp::IsNan:
  case NodeOp::ArgMax:
  case NodeOp::ArgMin:
  case NodeOp::Count:
  case NodeOp::ArgTop:
  case NodeOp::Accumulator: // of form-sweeps
  case NodeOp::Pair: return false;
  }
  llvm_unreachable("all operations are above");
}

/// How a linear function of an adjoint follows from the same function of the adjoint's operands.
enum class Linear { Negated, Scaled, Added, Subtracted, Chosen, Opaque };
Linear linearIn(NodeRef node) {
  switch (node->op) {
  case NodeOp::Neg: return Linear::Negated;
  case NodeOp::Mul: return node->operand(0)->isConstant() ? Linear::Scaled : Linear::Opaque;
  case NodeOp::Add: return Linear::Added;
  case NodeOp::Sub: return Linear::Subtracted;
  case NodeOp::Select: return Linear::Chosen;
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows) case NodeOp::Node:
#include "compiler/Expression/ScalarOps.def"
  case NodeOp::Constant:
  case NodeOp::Input:
  case NodeOp::Column:
  case NodeOp::MultiplyNoNan: // has a guard of its own
  case NodeOp::Div:
  case NodeOp::Pow:
  case NodeOp::Abs:
  case NodeOp::Maximum:
  case NodeOp::Minimum:
  case NodeOp::Clamp:
  case NodeOp::And:
  case NodeOp::Or:
  case NodeOp::Not:
  case NodeOp::Compare:
  case NodeOp::ToFloat:
  case NodeOp::IsFinite:
  case NodeOp::IsNan:
  case NodeOp::Uniform:
  case NodeOp::SumList:
  case NodeOp::Sum:
  case NodeOp::Mean:
  case NodeOp::LogSumExp:
  case NodeOp::ArgMax:
  case NodeOp::ArgMin:
  case NodeOp::Count:
  case NodeOp::Top:
  case NodeOp::ArgTop:
  case NodeOp::Gather:
  case NodeOp::Accumulator:
  case NodeOp::Pair: return Linear::Opaque;
  }
  llvm_unreachable("all operations are above");
}

class ReverseMode {
public:
  ReverseMode(Graph &g, ArrayRef<NodeRef> wanted) : g(g) {
    for (NodeRef input : wanted)
      gradients.insert({input, Gradient{input, nullptr, {}}});
  }

  void run(ArrayRef<std::pair<StringRef, NodeRef>> outputs) {
    SmallVector<NodeRef> roots = llvm::map_to_vector(outputs, [](auto output) { return output.second; });
    SmallVector<NodeRef> order = Graph::topological(roots);
    findActive(order);
    for (auto [name, output] : outputs) {
      g.setLoc(output->loc);
      accumulate(output, g.input(InputKind::Cotangent, name, -1, NodeType::Float), output);
    }
    for (NodeRef node : llvm::reverse(order)) {
      NodeRef adjoint = adjoints.lookup(node);
      if (!adjoint || adjoint->isConstant(0))
        continue;
      g.setLoc(node->loc);
      propagate(node, adjoint);
    }
  }

  /// An input whose gradient is wanted, but cannot be made; null where there is none.
  NodeRef getRefused() const { return refused; }
  Gradient gradientOf(NodeRef input) const {
    Gradient gradient = gradients.at(input);
    gradient.dense = adjoints.lookup(input);
    return gradient;
  }

private:
  /// A value is active if a wanted input reaches it through something that has a derivative.
  void findActive(ArrayRef<NodeRef> order) {
    for (NodeRef node : order) {
      bool flat = node->type != NodeType::Float || isFlat(node->op);
      if (gradients.contains(node) || (!flat && llvm::any_of(node->operands, [&](NodeRef x) { return active.contains(x); })))
        active.insert(node);
    }
  }

  /// Adds 'value' to the adjoint of 'x', which 'user' uses. A uniform used inside a varying value
  /// gets the sum over all; that of a mean is subtracted from the very values again, and what is
  /// left of a common offset is their rounding.
  void accumulate(NodeRef x, NodeRef value, NodeRef user) {
    if (!active.contains(x))
      return;
    if (user->varying && !x->varying)
      value = whereAnyTakes(x, value, sumOf(value, /*verbatim=*/x->is(NodeOp::Mean)));
    else if (user->places > 0 && x->places == 0)
      value = whereAnyTakes(x, value, g.sumList(value, user->places));
    NodeRef &adjoint = adjoints[x];
    adjoint = adjoint ? g.add(adjoint, value) : value;
  }

  bool hasGuard(NodeRef node);
  using Done = DenseMap<NodeRef, NodeRef>; // expressions share: each is visited once
  template <typename F>
  NodeRef through(NodeRef adjoint, F f, Done &done);
  template <typename F>
  NodeRef through(NodeRef adjoint, F f) {
    Done done;
    return through(adjoint, f, done);
  }
  NodeRef sumOf(NodeRef value, bool verbatim);
  NodeRef whereAnyTakes(NodeRef x, NodeRef value, NodeRef sum);
  void propagate(NodeRef n, NodeRef adjoint);
  void propagateGather(NodeRef n, NodeRef A);
  void propagateClamp(NodeRef n, NodeRef A);
  void propagateExtremum(NodeRef n, NodeRef A);
  void propagatePow(NodeRef n, NodeRef A);

  Graph &g;
  llvm::MapVector<NodeRef, Gradient> gradients;
  DenseMap<NodeRef, NodeRef> adjoints;
  DenseSet<NodeRef> active;
  DenseMap<NodeRef, bool> guarded;
  NodeRef refused = nullptr;
};

/// Whether one of the values that 'node' adds up or chooses from is cut off by a condition.
bool ReverseMode::hasGuard(NodeRef node) {
  if (auto known = guarded.find(node); known != guarded.end())
    return known->second;
  bool has = false;
  Linear linear = linearIn(node);
  if (linear == Linear::Chosen)
    has = llvm::any_of(ArrayRef(node->operands).drop_front(), [&](NodeRef x) { return x->isConstant(0) || hasGuard(x); });
  else if (linear != Linear::Opaque)
    has = llvm::any_of(node->operands, [&](NodeRef x) { return hasGuard(x); });
  guarded[node] = has;
  return has;
}

/// f of the adjoint where it is not cut off: a branch that is not taken stays 0, whatever f
/// multiplies it by. f is linear.
template <typename F>
NodeRef ReverseMode::through(NodeRef adjoint, F f, Done &done) {
  if (!hasGuard(adjoint))
    return adjoint->isConstant(0) ? adjoint : f(adjoint);
  if (NodeRef known = done.lookup(adjoint))
    return known;
  auto inside = [&](unsigned i) { return through(adjoint->operand(i), f, done); };
  NodeRef result = nullptr;
  switch (linearIn(adjoint)) {
  case Linear::Negated: result = g.neg(inside(0)); break;
  case Linear::Scaled: result = g.mul(adjoint->operand(0), inside(1)); break;
  case Linear::Added: result = g.add(inside(0), inside(1)); break;
  case Linear::Subtracted: result = g.sub(inside(0), inside(1)); break;
  case Linear::Chosen: result = g.select(adjoint->operand(0), inside(1), inside(2)); break;
  case Linear::Opaque: llvm_unreachable("has no guard");
  }
  done[adjoint] = result;
  return result;
}

/// The sum over the vocabulary, guarded by a condition per token: it still guards what is
/// multiplied next.
NodeRef ReverseMode::sumOf(NodeRef value, bool verbatim) {
  if (!value->is(NodeOp::Select) || value->operand(0)->varying || !hasGuard(value))
    return g.sum(value, verbatim);
  return g.select(value->operand(0), sumOf(value->operand(1), verbatim), sumOf(value->operand(2), verbatim));
}

/// The sum of 'value' over the vocabulary or a list, guarded by whether any entry takes
/// the branch that 'value' comes from: if none does, the sum of 0 may be multiplied next with what
/// makes 'x' infinite.
NodeRef ReverseMode::whereAnyTakes(NodeRef x, NodeRef value, NodeRef sum) {
  if (x->staysFinite || x->is(NodeOp::Input) || !value->is(NodeOp::Select) || !(value->operand(0)->varying || value->operand(0)->places > 0))
    return sum;
  NodeRef taken = value->operand(0), zero = g.constant(0);
  if (value->operand(1)->isConstant(0))
    taken = g.logicalNot(taken);
  else if (!value->operand(2)->isConstant(0))
    return sum;
  NodeRef anyTakes = taken->varying ? g.compare(Predicate::Gt, g.count(taken), g.integer(0))
                                    : g.compare(Predicate::Gt, g.sumList(g.unary(NodeOp::ToFloat, taken), taken->places), zero);
  return g.select(anyTakes, sum, zero);
}

#define LOGITILE_SMOOTH(Node, Op, Facts, Slope)                                                                                                  \
  NodeRef slopeOf##Node(Graph &g, [[maybe_unused]] NodeRef x, [[maybe_unused]] NodeRef y, NodeRef A) { return Slope; }
#define LOGITILE_FLAT(Node, Op, Facts)
#include "compiler/Expression/ScalarOps.def"

/// 0 at 0.
static NodeRef signOf(Graph &g, NodeRef x) {
  NodeRef zero = g.constant(0);
  return g.select(g.compare(Predicate::Gt, x, zero), g.constant(1), g.select(g.compare(Predicate::Lt, x, zero), g.constant(-1), zero));
}

void ReverseMode::propagate(NodeRef n, NodeRef adjoint) {
  auto pass = [&](NodeRef x, auto slope) { accumulate(x, through(adjoint, slope), n); };
  NodeRef A = adjoint;
  NodeRef a = n->operands.empty() ? nullptr : n->operand(0);
  NodeRef b = n->operands.size() > 1 ? n->operand(1) : nullptr;
  NodeRef zero = g.constant(0);
  switch (n->op) {
  case NodeOp::Add:
    accumulate(a, A, n);
    return accumulate(b, A, n);
  case NodeOp::Sub:
    accumulate(a, A, n);
    return accumulate(b, g.neg(A), n);
  case NodeOp::Neg: return accumulate(a, g.neg(A), n);
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan:
    pass(a, [&](NodeRef A) { return g.mul(A, b); });
    return pass(b, [&](NodeRef A) { return n->is(NodeOp::MultiplyNoNan) ? g.multiplyNoNan(a, A) : g.mul(a, A); });
  case NodeOp::Div:
    pass(a, [&](NodeRef A) { return g.div(A, b); });
    return pass(b, [&](NodeRef A) { return g.neg(g.div(g.mul(A, n), b)); });
  case NodeOp::Pow: return propagatePow(n, A);
#define LOGITILE_SMOOTH(Node, Op, Facts, Slope)                                                                                                  \
  case NodeOp::Node: return pass(a, [&](NodeRef A) { return slopeOf##Node(g, a, n, A); });
#define LOGITILE_FLAT(Node, Op, Facts)                                                                                                           \
  case NodeOp::Node: return;
#include "compiler/Expression/ScalarOps.def"
  case NodeOp::Abs: return pass(a, [&](NodeRef A) { return g.mul(A, signOf(g, a)); });
  case NodeOp::Select:
    accumulate(b, g.select(a, A, zero), n);
    return accumulate(n->operand(2), g.select(a, zero, A), n);
  case NodeOp::Maximum:
  case NodeOp::Minimum: return propagateExtremum(n, A);
  case NodeOp::Clamp: return propagateClamp(n, A);
  case NodeOp::SumList:
  case NodeOp::Sum: return accumulate(a, A, a);
  case NodeOp::Mean: return accumulate(a, g.mul(g.constant(1.0 / g.vocab), A), a);
  case NodeOp::LogSumExp: return accumulate(a, g.mul(g.exp(g.sub(a, n)), A), a);
  case NodeOp::Gather: return propagateGather(n, A);
  case NodeOp::Constant: // leaves
  case NodeOp::Input:
  case NodeOp::Column:
  case NodeOp::Uniform: // of integers
  case NodeOp::ToFloat: // a step function of numbers, or of none
  case NodeOp::And: // no floats
  case NodeOp::Or:
  case NodeOp::Not:
  case NodeOp::Compare:
  case NodeOp::IsFinite:
  case NodeOp::IsNan:
  case NodeOp::ArgMax:
  case NodeOp::ArgMin:
  case NodeOp::Count:
  case NodeOp::Top: // lists carry no gradient
  case NodeOp::ArgTop: return;
  case NodeOp::Accumulator:
  case NodeOp::Pair: break;
  }
  llvm_unreachable("row state and pairs belong to form-sweeps");
}

void ReverseMode::propagatePow(NodeRef n, NodeRef A) {
  NodeRef a = n->operand(0), b = n->operand(1), zero = g.constant(0);
  accumulate(a, through(A, [&](NodeRef A) { return g.mul(A, g.mul(b, g.pow(a, g.sub(b, g.constant(1))))); }), n);
  if (!active.contains(b))
    return;
  NodeRef slope = through(A, [&](NodeRef A) { return g.mul(A, g.mul(n, g.log(a))); }); // 0 ** b has slope 0 in b, not 0 * -inf
  accumulate(b, g.select(g.compare(Predicate::Eq, n, zero), zero, slope), n);
}

/// Passes at the bounds; the result is the upper one where that is below the lower one.
void ReverseMode::propagateClamp(NodeRef n, NodeRef A) {
  NodeRef a = n->operand(0), b = n->operand(1), c = n->operand(2), zero = g.constant(0);
  NodeRef inside = g.logicalAnd(g.compare(Predicate::Ge, a, b), g.compare(Predicate::Le, a, c));
  NodeRef below = g.logicalAnd(g.compare(Predicate::Lt, a, b), g.compare(Predicate::Lt, b, c));
  NodeRef above = g.logicalOr(g.compare(Predicate::Gt, a, c), g.compare(Predicate::Lt, c, b));
  accumulate(a, g.select(inside, A, zero), n);
  accumulate(b, g.select(below, A, zero), n);
  accumulate(c, g.select(above, A, zero), n);
}

/// Half to each on ties.
void ReverseMode::propagateExtremum(NodeRef n, NodeRef A) {
  NodeRef a = n->operand(0), b = n->operand(1), zero = g.constant(0);
  NodeRef wins = g.compare(n->is(NodeOp::Maximum) ? Predicate::Gt : Predicate::Lt, a, b);
  NodeRef tie = g.compare(Predicate::Eq, a, b), half = g.mul(g.constant(0.5), A);
  accumulate(a, g.select(tie, half, g.select(wins, A, zero)), n);
  accumulate(b, g.select(tie, half, g.select(wins, zero, A)), n);
}

void ReverseMode::propagateGather(NodeRef n, NodeRef A) {
  NodeRef a = n->operand(0);
  if (n->places > 0 && a->isInput(InputKind::Dense)) {
    refused = gradients.contains(a) ? a : refused;
    return;
  }
  if (a->isInput(InputKind::Dense)) // every entry of its gradient is written anyway
    return accumulate(a, g.select(g.compare(Predicate::Eq, g.column(), n->operand(1)), A, g.constant(0)), a);
  if (auto *it = gradients.find(a); it != gradients.end())
    it->second.rows.push_back({n->operand(1), A});
}

struct DifferentiatePass : impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    LossOp loss = getOperation();
    if (!loss.getWrt())
      return;
    Block &body = loss.getBody().front();
    if (!body.getOps<GradientOp>().empty()) {
      loss.emitOpError() << "has a gradient already";
      return signalPassFailure();
    }
    Graph graph(&getContext(), loss.getVocab());
    for (StringRef name : loss.getWrt()->getAsValueRange<StringAttr>())
      graph.differentiated.insert(name);
    Importer importer(graph);
    if (failed(importer.importBlock(body)))
      return signalPassFailure();

    SmallVector<NodeRef> wanted;
    if (failed(findWanted(loss, importer, wanted)))
      return signalPassFailure();
    ReverseMode reverse(graph, wanted);
    reverse.run(differentiable(loss, importer));
    if (NodeRef refused = reverse.getRefused()) {
      loss.emitOpError() << "wants the gradient of '" << refused->name
                         << "', of which it picks entries at a list of indices; only logits and Vocab inputs have such a gradient";
      return signalPassFailure();
    }
    print(loss, importer, reverse, wanted);
  }

  /// The nodes of the inputs that 'wrt' names; a token input with several entries has one node for
  /// each that is read.
  LogicalResult findWanted(LossOp loss, Importer &importer, SmallVectorImpl<NodeRef> &wanted) {
    for (StringRef name : loss.getWrt()->getAsValueRange<StringAttr>()) {
      bool found = false;
      for (InputOp input : loss.getBody().getOps<InputOp>()) {
        if (input.getName() != name)
          continue;
        if (!input.getType().isF32())
          return loss.emitOpError() << "wants the gradient of '" << name << "', which is of " << input.getType() << "; only floats have one";
        found = true;
        if (!llvm::is_contained(wanted, importer.lookup(input)))
          wanted.push_back(importer.lookup(input));
      }
      if (!found)
        return loss.emitOpError() << "wants the gradient of '" << name << "', which it does not read";
    }
    return success();
  }
  SmallVector<std::pair<StringRef, NodeRef>> differentiable(LossOp loss, Importer &importer) {
    SmallVector<std::pair<StringRef, NodeRef>> outputs;
    auto yield = cast<YieldOp>(loss.getBody().front().getTerminator());
    for (auto [name, value] : llvm::zip_equal(loss.getOutputs().getAsValueRange<StringAttr>(), yield.getValues()))
      if (llvm::is_contained(loss.getOf()->getAsValueRange<StringAttr>(), name))
        outputs.push_back({name, importer.lookup(value)});
    return outputs;
  }

  void print(LossOp loss, Importer &importer, ReverseMode &reverse, ArrayRef<NodeRef> wanted) {
    OpBuilder builder(loss.getBody().front().getTerminator());
    auto op = GradientOp::create(builder, loss.getLoc(), /*exponential=*/false, /*reference=*/ReferenceAttr());
    builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
    Exporter exporter(builder);
    // In the order of the ops, so that the first value of an expression is the one used again; not
    // one that is read along the vocabulary and known to be the same for all of it.
    Varying varying(loss.getBody());
    for (Operation &forward : loss.getBody().front()) {
      if (forward.getNumResults() != 1)
        continue;
      Value value = forward.getResult(0);
      if (NodeRef node = importer.lookup(value); node->varying || varying.isUniform(value))
        exporter.give(node, value);
    }
    for (NodeRef input : wanted) {
      Gradient gradient = reverse.gradientOf(input);
      Value dense = gradient.dense && !gradient.dense->isConstant(0) ? exporter.get(gradient.dense) : Value();
      SmallVector<Value> columns, coefficients;
      for (auto [column, coefficient] : gradient.rows) {
        columns.push_back(exporter.get(column));
        coefficients.push_back(exporter.get(coefficient));
      }
      IntegerAttr index = input->index < 0 ? IntegerAttr() : builder.getI64IntegerAttr(input->index);
      IntegerAttr places = input->places == 0 ? IntegerAttr() : builder.getI64IntegerAttr(input->places);
      AdjointOp::create(builder, input->loc, input->kind, builder.getStringAttr(input->name), index, places, dense,
                        /*factor=*/Value(), columns, coefficients);
    }
  }
};
} // namespace
} // namespace logitile

// Import.cpp - reads the scalar ops of a loss into a graph.
#include "compiler/Expression/Import.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

NodeType logitile::nodeTypeOf(Type type) {
  return type.isF32() ? NodeType::Float : type.isInteger(1) ? NodeType::Bool : NodeType::Int;
}

LogicalResult Importer::importBlock(Block &block) {
  varying.emplace(*block.getParent());
  return importOps(block);
}

LogicalResult Importer::importOps(Block &block) {
  for (Operation &op : block) {
    if (isa<YieldOp, AdjointOp>(op))
      continue;
    if (auto gradient = dyn_cast<GradientOp>(op)) {
      if (failed(importOps(gradient.getBody().front())))
        return failure();
      continue;
    }
    graph.setLoc(op.getLoc());
    NodeRef node = importOp(op);
    if (!node)
      return op.emitOpError() << "is no op that a loss may use";
    nodes[op.getResult(0)] = node;
  }
  return success();
}

static NodeRef importConstant(Graph &graph, arith::ConstantOp constant) {
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    return graph.constant(number.getValueAsDouble());
  auto integer = cast<IntegerAttr>(constant.getValue());
  return integer.getType().isInteger(1) ? graph.boolean(integer.getValue().getBoolValue()) : graph.integer(integer.getInt());
}

/// A predicate, and whether its result is to be negated (the unordered predicates of floats).
static std::pair<Predicate, bool> importPredicate(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OLT: return {Predicate::Lt, false};
  case P::OLE: return {Predicate::Le, false};
  case P::OGT: return {Predicate::Gt, false};
  case P::OGE: return {Predicate::Ge, false};
  case P::OEQ: return {Predicate::Eq, false};
  case P::UNE: return {Predicate::Ne, false};
  case P::ULT: return {Predicate::Ge, true};
  case P::ULE: return {Predicate::Gt, true};
  case P::UGT: return {Predicate::Le, true};
  case P::UGE: return {Predicate::Lt, true};
  default: return {Predicate::Lt, false};
  }
}
static NodeRef importCompare(Graph &graph, arith::CmpFOp op, NodeRef a, NodeRef b) {
  using P = arith::CmpFPredicate;
  auto isNan = [&](NodeRef x) { return graph.unary(NodeOp::IsNan, x); };
  switch (op.getPredicate()) {
  case P::UNO: return graph.logicalOr(isNan(a), isNan(b));
  case P::ORD: return graph.logicalNot(graph.logicalOr(isNan(a), isNan(b)));
  case P::ONE: return graph.logicalOr(graph.compare(Predicate::Lt, a, b), graph.compare(Predicate::Gt, a, b));
  case P::UEQ: return graph.logicalNot(graph.logicalOr(graph.compare(Predicate::Lt, a, b), graph.compare(Predicate::Gt, a, b)));
  case P::AlwaysFalse: return graph.boolean(false);
  case P::AlwaysTrue: return graph.boolean(true);
  default: break;
  }
  auto [predicate, negated] = importPredicate(op.getPredicate());
  NodeRef result = graph.compare(predicate, a, b);
  return negated ? graph.logicalNot(result) : result;
}
static NodeRef importCompare(Graph &graph, arith::CmpIOp op, NodeRef a, NodeRef b) {
  using P = arith::CmpIPredicate;
  if (a->type == NodeType::Bool) { // i1: only equality has a meaning
    NodeRef both = graph.logicalAnd(a, b), neither = graph.logicalAnd(graph.logicalNot(a), graph.logicalNot(b));
    NodeRef equal = graph.logicalOr(both, neither);
    return op.getPredicate() == P::eq ? equal : op.getPredicate() == P::ne ? graph.logicalNot(equal) : nullptr;
  }
  switch (op.getPredicate()) {
  case P::slt: return graph.compare(Predicate::Lt, a, b);
  case P::sle: return graph.compare(Predicate::Le, a, b);
  case P::sgt: return graph.compare(Predicate::Gt, a, b);
  case P::sge: return graph.compare(Predicate::Ge, a, b);
  case P::eq: return graph.compare(Predicate::Eq, a, b);
  case P::ne: return graph.compare(Predicate::Ne, a, b);
  default: return nullptr;
  }
}

NodeRef Importer::importReduce(ReduceOp reduce) {
  NodeRef x = lookup(reduce.getValue());
  switch (reduce.getCombiner()) {
  case Combiner::Sum: return graph.sum(x, reduce.getVerbatim());
  case Combiner::Mean: return graph.mean(x);
  case Combiner::LogSumExp: return graph.logsumexp(x);
  case Combiner::ArgMax: return graph.arg(NodeOp::ArgMax, x, /*isExact=*/true);
  case Combiner::ArgMin: return graph.arg(NodeOp::ArgMin, x, /*isExact=*/true);
  case Combiner::Max:
    return graph.gather(x, graph.arg(NodeOp::ArgMax, x)); // rule 6
  case Combiner::Min:
    return graph.gather(x, graph.arg(NodeOp::ArgMin, x));
  case Combiner::Count: return graph.count(x);
  case Combiner::Top: return graph.top(NodeOp::Top, x, *reduce.getPlaces());
  case Combiner::ArgTop: return graph.top(NodeOp::ArgTop, x, *reduce.getPlaces());
  case Combiner::Any: return graph.compare(Predicate::Gt, graph.count(x), graph.integer(0));
  case Combiner::All: return graph.compare(Predicate::Eq, graph.count(graph.logicalNot(x)), graph.integer(0));
  }
  llvm_unreachable("every combiner is covered");
}

NodeRef Importer::importOp(Operation &op) {
  SmallVector<NodeRef> x;
  for (Value operand : op.getOperands())
    x.push_back(lookup(operand));
  bool areBools = llvm::all_of(x, [](NodeRef operand) { return operand->type == NodeType::Bool; });
  auto binary = [&](auto constructor) { return (graph.*constructor)(x[0], x[1]); };
  auto unary = [&](NodeOp kind) { return graph.unary(kind, x[0]); };
  return llvm::TypeSwitch<Operation *, NodeRef>(&op)
      .Case<arith::ConstantOp>([&](auto constant) { return importConstant(graph, constant); })
      .Case<InputOp>([&](InputOp input) {
        return graph.input(input.getKind(), input.getName(), input.getIndex().value_or(-1), nodeTypeOf(input.getType()),
                           input.getPlaces().value_or(0));
      })
      .Case<ColumnOp>([&](auto) { return graph.column(); })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return binary(&Graph::add); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return binary(&Graph::sub); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return binary(&Graph::mul); })
      .Case<MultiplyNoNanOp>([&](auto) { return binary(&Graph::multiplyNoNan); })
      .Case<arith::DivFOp>([&](auto) { return binary(&Graph::div); })
      .Case<arith::NegFOp>([&](auto) { return graph.neg(x[0]); })
      .Case<math::PowFOp>([&](auto) { return binary(&Graph::pow); })
      .Case<arith::MaximumFOp, arith::MaxSIOp>([&](auto) { return binary(&Graph::maximum); })
      .Case<arith::MinimumFOp, arith::MinSIOp>([&](auto) { return binary(&Graph::minimum); })
      .Case<math::ClampFOp>([&](auto) { return graph.clamp(x[0], x[1], x[2]); })
      .Case<math::Exp2Op>([&](auto) { return graph.exp(graph.mul(graph.constant(0.693147180559945309), x[0])); })
      .Case<math::Log2Op>([&](auto) { return graph.mul(graph.constant(1.44269504088896341), graph.log(x[0])); })
      .Case<math::RsqrtOp>([&](auto) { return graph.div(graph.constant(1), graph.sqrt(x[0])); })
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows) .Case<Op>([&](auto) { return unary(NodeOp::Node); })
#include "compiler/Expression/ScalarOps.def"
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) { return unary(NodeOp::Abs); })
      .Case<math::IsFiniteOp>([&](auto) { return unary(NodeOp::IsFinite); })
      .Case<math::IsNaNOp>([&](auto) { return unary(NodeOp::IsNan); })
      .Case<arith::SIToFPOp>([&](auto) { return x[0]->type == NodeType::Int ? unary(NodeOp::ToFloat) : nullptr; })
      .Case<arith::UIToFPOp>([&](auto) { return x[0]->type == NodeType::Bool ? unary(NodeOp::ToFloat) : nullptr; })
      .Case<arith::SelectOp>([&](auto) { return graph.select(x[0], x[1], x[2]); })
      .Case<arith::AndIOp>([&](auto) { return areBools ? binary(&Graph::logicalAnd) : nullptr; })
      .Case<arith::OrIOp>([&](auto) { return areBools ? binary(&Graph::logicalOr) : nullptr; })
      .Case<arith::XOrIOp>([&](auto) -> NodeRef {
        if (!areBools)
          return nullptr;
        return graph.logicalOr(graph.logicalAnd(x[0], graph.logicalNot(x[1])), graph.logicalAnd(graph.logicalNot(x[0]), x[1]));
      })
      .Case<SumListOp>([&](SumListOp sum) { return graph.sumList(x[0], varying->placesOf(sum.getList())); })
      .Case<UniformOp>([&](auto) { return graph.uniform(x); })
      .Case<arith::CmpFOp, arith::CmpIOp>([&](auto compare) { return importCompare(graph, compare, x[0], x[1]); })
      .Case<ReduceOp>([&](ReduceOp reduce) { return importReduce(reduce); })
      .Case<GatherOp>([&](auto) { return binary(&Graph::gather); })
      .Default([](auto) -> NodeRef { return nullptr; });
}

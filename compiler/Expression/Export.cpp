// Export.cpp - prints nodes as scalar ops.
#include "compiler/Expression/Import.h"
#include "mlir/Dialect/Math/IR/Math.h"
using namespace mlir;
using namespace logitile;

Type logitile::typeOf(MLIRContext *context, NodeType type) {
  if (type == NodeType::Float)
    return Float32Type::get(context);
  return IntegerType::get(context, type == NodeType::Bool ? 1 : 32);
}

static Value emitConstant(OpBuilder &b, NodeRef node) {
  if (node->type == NodeType::Float)
    return arith::ConstantOp::create(b, node->loc, b.getF32FloatAttr(static_cast<float>(node->number)));
  if (node->type == NodeType::Bool)
    return arith::ConstantOp::create(b, node->loc, b.getBoolAttr(node->number != 0));
  return arith::ConstantOp::create(b, node->loc, b.getI32IntegerAttr(static_cast<int32_t>(node->number)));
}
static Value emitCompare(OpBuilder &b, NodeRef node, Value x, Value y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  constexpr F floats[] = {F::OLT, F::OLE, F::OGT, F::OGE, F::OEQ, F::UNE};
  constexpr I integers[] = {I::slt, I::sle, I::sgt, I::sge, I::eq, I::ne};
  unsigned i = static_cast<unsigned>(node->predicate);
  if (x.getType().isF32())
    return arith::CmpFOp::create(b, node->loc, floats[i], x, y);
  return arith::CmpIOp::create(b, node->loc, integers[i], x, y);
}
static Combiner combinerOf(NodeOp op) {
  switch (op) {
  case NodeOp::Sum: return Combiner::Sum;
  case NodeOp::Mean: return Combiner::Mean;
  case NodeOp::LogSumExp: return Combiner::LogSumExp;
  case NodeOp::ArgMax: return Combiner::ArgMax;
  case NodeOp::ArgMin: return Combiner::ArgMin;
  case NodeOp::Top: return Combiner::Top;
  case NodeOp::ArgTop: return Combiner::ArgTop;
  default: return Combiner::Count;
  }
}
/// `not x`, and 0 - x of integers, which arith spells with a constant.
static Value emitWithConstant(OpBuilder &b, NodeRef node, Value x) {
  if (node->is(NodeOp::Not)) {
    Value yes = arith::ConstantOp::create(b, node->loc, b.getBoolAttr(true));
    return arith::XOrIOp::create(b, node->loc, x, yes);
  }
  Value zero = arith::ConstantOp::create(b, node->loc, b.getI32IntegerAttr(0));
  return arith::SubIOp::create(b, node->loc, zero, x);
}

Value logitile::emitNode(OpBuilder &b, NodeRef node, ArrayRef<Value> x) {
  Location loc = node->loc;
  Type type = typeOf(b.getContext(), node->type);
  bool isFloat = node->type == NodeType::Float;
  switch (node->op) {
  case NodeOp::Constant: return emitConstant(b, node);
  case NodeOp::Input: {
    IntegerAttr index = node->index < 0 ? IntegerAttr() : b.getI64IntegerAttr(node->index);
    IntegerAttr places = node->places == 0 ? IntegerAttr() : b.getI64IntegerAttr(node->places);
    return InputOp::create(b, loc, type, node->kind, b.getStringAttr(node->name), index, places);
  }
  case NodeOp::Column: return ColumnOp::create(b, loc, type);
  case NodeOp::Add: return isFloat ? Value(arith::AddFOp::create(b, loc, x[0], x[1])) : arith::AddIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Sub: return isFloat ? Value(arith::SubFOp::create(b, loc, x[0], x[1])) : arith::SubIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Mul: return isFloat ? Value(arith::MulFOp::create(b, loc, x[0], x[1])) : arith::MulIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Neg: return isFloat ? Value(arith::NegFOp::create(b, loc, x[0])) : emitWithConstant(b, node, x[0]);
  case NodeOp::Not: return emitWithConstant(b, node, x[0]);
  case NodeOp::MultiplyNoNan: return MultiplyNoNanOp::create(b, loc, x[0], x[1]);
  case NodeOp::Div: return arith::DivFOp::create(b, loc, x[0], x[1]);
  case NodeOp::Pow: return math::PowFOp::create(b, loc, x[0], x[1]);
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows)                                                                                                \
  case NodeOp::Node: return Op::create(b, loc, x[0]);
#include "compiler/Expression/ScalarOps.def"
  case NodeOp::Abs: return isFloat ? Value(math::AbsFOp::create(b, loc, x[0])) : math::AbsIOp::create(b, loc, x[0]);
  case NodeOp::Maximum: return isFloat ? Value(arith::MaximumFOp::create(b, loc, x[0], x[1])) : arith::MaxSIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Minimum: return isFloat ? Value(arith::MinimumFOp::create(b, loc, x[0], x[1])) : arith::MinSIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Clamp: return math::ClampFOp::create(b, loc, x[0], x[1], x[2]);
  case NodeOp::Select: return arith::SelectOp::create(b, loc, x[0], x[1], x[2]);
  case NodeOp::And: return arith::AndIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Or: return arith::OrIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Compare: return emitCompare(b, node, x[0], x[1]);
  case NodeOp::ToFloat:
    return x[0].getType().isInteger(1) ? Value(arith::UIToFPOp::create(b, loc, type, x[0])) : arith::SIToFPOp::create(b, loc, type, x[0]);
  case NodeOp::IsFinite: return math::IsFiniteOp::create(b, loc, x[0]);
  case NodeOp::IsNan: return math::IsNaNOp::create(b, loc, x[0]);
  case NodeOp::Uniform: return UniformOp::create(b, loc, x[0], x[1], x[2], x[3]);
  case NodeOp::SumList: return SumListOp::create(b, loc, x[0]);
  case NodeOp::Sum:
  case NodeOp::Mean:
  case NodeOp::LogSumExp:
  case NodeOp::ArgMax:
  case NodeOp::ArgMin:
  case NodeOp::Count: return ReduceOp::create(b, loc, type, combinerOf(node->op), node->isVerbatim(), x[0], IntegerAttr());
  case NodeOp::Top:
  case NodeOp::ArgTop:
    return ReduceOp::create(b, loc, type, combinerOf(node->op), /*verbatim=*/false, x[0], b.getI64IntegerAttr(node->index));
  case NodeOp::Gather:
    return GatherOp::create(b, loc, x[0], x[1]);
  case NodeOp::Accumulator:
  case NodeOp::Pair: break;
  }
  llvm_unreachable("row state and pairs belong to form-sweeps");
}

/// A number that is no float32, as a sum that gives it back when it is read: rounded, it would be
/// another value.
static Value emitExactConstant(OpBuilder &b, NodeRef node) {
  Value high = emitConstant(b, node);
  Value low = arith::ConstantOp::create(b, node->loc, b.getF32FloatAttr(static_cast<float>(node->rounding())));
  return arith::AddFOp::create(b, node->loc, high, low);
}

Value Exporter::get(NodeRef root) {
  for (NodeRef node : Graph::topological(root)) {
    if (values.contains(node))
      continue;
    SmallVector<Value> operands = llvm::map_to_vector(node->operands, [&](NodeRef operand) { return values.at(operand); });
    values[node] = node->rounding() != 0 ? emitExactConstant(builder, node) : emitNode(builder, node, operands);
  }
  return values.at(root);
}

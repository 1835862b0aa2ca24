// Facts.cpp - looks up facts in the table of scalar operations; the rules of weights.
#include "compiler/Expression/Facts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

unsigned logitile::factsOf(NodeOp op) {
  switch (op) {
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows)                                                                                                \
  case NodeOp::Node: return Facts;
#include "compiler/Expression/ScalarOps.def"
  default: return Fact::None;
  }
}

unsigned logitile::factsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, unsigned>(op)
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows) .Case<Op>([](auto) -> unsigned { return Facts; })
#include "compiler/Expression/ScalarOps.def"
      .Default([](auto) -> unsigned { return Fact::None; });
}

// ---- weights ------------------------------------------------------------------------------------

/// Of a function of one f32.
static WeightRule ruleOfFunction(unsigned facts) {
  return facts & Fact::Weight ? WeightRule::Always : facts & Fact::WeightIfOperand ? WeightRule::First : WeightRule::Never;
}

WeightRule logitile::weightRuleOf(NodeOp op) {
  switch (op) {
  case NodeOp::Neg:
  case NodeOp::Pow:
  case NodeOp::Div: return WeightRule::First;
  case NodeOp::MultiplyNoNan: return WeightRule::Both;
  case NodeOp::Mul: return WeightRule::Scaled;
  case NodeOp::Select: return WeightRule::Branches;
  default: return ruleOfFunction(factsOf(op));
  }
}

WeightRule logitile::weightRuleOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, WeightRule>(op)
      .Case<arith::NegFOp, math::PowFOp, arith::DivFOp, GatherOp>([](auto) { return WeightRule::First; })
      .Case<ReduceOp>([](ReduceOp reduce) {
        bool isExtreme = reduce.getCombiner() == Combiner::Max || reduce.getCombiner() == Combiner::Min;
        return isExtreme ? WeightRule::First : WeightRule::Never;
      })
      .Case<MultiplyNoNanOp>([](auto) { return WeightRule::Both; })
      .Case<arith::MulFOp>([](auto) { return WeightRule::Scaled; })
      .Case<arith::SelectOp>([](auto) { return WeightRule::Branches; })
      .Case<math::Exp2Op>([](auto) { return WeightRule::Always; })
      .Default([](Operation *function) { return ruleOfFunction(factsOf(function)); });
}

bool logitile::isWeightBy(WeightRule rule, function_ref<bool(unsigned)> isWeight, function_ref<bool(unsigned)> isConstant) {
  auto scales = [&](unsigned factor, unsigned x) { return isConstant(factor) && isWeight(x); };
  switch (rule) {
  case WeightRule::Never: return false;
  case WeightRule::Always: return true;
  case WeightRule::First: return isWeight(0);
  case WeightRule::Both: return isWeight(0) && isWeight(1);
  case WeightRule::Scaled: return scales(0, 1) || scales(1, 0);
  case WeightRule::Branches: return (isWeight(1) && isWeight(2)) || scales(1, 2) || scales(2, 1);
  }
  llvm_unreachable("every rule is covered");
}

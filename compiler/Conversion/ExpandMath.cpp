// ExpandMath.cpp - replaces elementary functions by arithmetic. The formulas are MathFunctions.cpp.
#include "compiler/Conversion/ExpandMath.h"
#include "compiler/Conversion/Lanes.h"
#include "compiler/Conversion/MathFunctions.h"
#include "compiler/Conversion/Philox.h"
#include "compiler/Passes.h"
#include "compiler/Target/ModuleTarget.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/Passes.h.inc"

/// A weight of 0 wins over infinities and NaN.
static Value multiplyNoNan(Lanes weight, Lanes value) { return weight.like(0.0).where(weight == 0.0, weight * value); }

/// With e = exp(-|x|), which is at most 1: 1 / (1 + e), or e / (1 + e) for negative x.
static Value sigmoid(ImplicitLocOpBuilder &b, Lanes x) {
  Lanes e(b, math::ExpOp::create(b, -x.magnitude()));
  return e.where(x < 0.0, e.like(1.0)) / (e + 1.0);
}
/// max(x, 0) + log1p(exp(-|x|)).
static Value softplus(ImplicitLocOpBuilder &b, Lanes x) {
  Lanes e(b, math::ExpOp::create(b, -x.magnitude())), rest(b, math::Log1pOp::create(b, e));
  return x.like(0.0).where(x < 0.0, x) + rest;
}

Value expandLogitileOp(ImplicitLocOpBuilder &b, Operation *op, ValueRange operands) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<MultiplyNoNanOp>([&](auto) { return multiplyNoNan({b, operands[0]}, {b, operands[1]}); })
      .Case<SigmoidOp>([&](auto) { return sigmoid(b, {b, operands[0]}); })
      .Case<SoftplusOp>([&](auto) { return softplus(b, {b, operands[0]}); })
      .Case<UniformOp>([&](auto) {
        return uniform({b, operands[0]}, {b, operands[1]}, {b, operands[2]}, {b, operands[3]});
      })
      .Default([](auto) { return Value(); });
}

bool isElementary(Operation *op) {
#define LOGITILE_ELEMENTARY(Node, Op, Code, Facts, Slope) Op,
#define LOGITILE_SMOOTH(Node, Op, Facts, Slope)
#define LOGITILE_FLAT(Node, Op, Facts)
  return isa<
#include "compiler/Expression/ScalarOps.def"
      math::Exp2Op, math::Log2Op, math::PowFOp, SigmoidOp, SoftplusOp, UniformOp>(op);
}

bool mayBeApproximate(Operation *op) {
  if (!isa<math::ExpOp, math::Exp2Op>(op))
    return false;
  return arith::bitEnumContainsAny(cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
}

namespace {
struct ExpandMathPass : impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;

  /// What 'op' becomes; null where the target has an instruction for it. Expansions of MLIR 22
  /// (populateExpansionPatterns) do not replace those of fma, pow, clamp, roundEven and floor: fma
  /// rounds the product there, pow is exp(y log(x)) in f32, clamp takes the bounds for each other,
  /// roundEven takes 49 operations, and floor has none.
  FailureOr<Value> expand(Operation *op, ImplicitLocOpBuilder &b, const logitile::Target &target, const MathInstructions &has) {
    if (Value expanded = expandLogitileOp(b, op, op->getOperands()))
      return expanded;
    MathFunctions f(b, op->getResult(0).getType(), target);
    if (has.hasApproximateExp2 && mayBeApproximate(op))
      return isa<math::ExpOp>(op) ? f.expByExp2(op->getOperand(0)) : target.approximateExp2(b, op->getOperand(0));
    auto one = [&](Value (MathFunctions::*function)(Value)) { return (f.*function)(op->getOperand(0)); };
    return llvm::TypeSwitch<Operation *, FailureOr<Value>>(op)
#define LOGITILE_ELEMENTARY(Node, Op, Code, Facts, Slope) .Case<Op>([&](auto) { return one(&MathFunctions::Code); })
#define LOGITILE_SMOOTH(Node, Op, Facts, Slope)
#define LOGITILE_FLAT(Node, Op, Facts)
#include "compiler/Expression/ScalarOps.def"
        .Case<math::Exp2Op>([&](auto) { return one(&MathFunctions::exp2); })
        .Case<math::Log2Op>([&](auto) { return one(&MathFunctions::log2); })
        .Case<math::PowFOp>([&](auto pow) { return f.pow(pow.getLhs(), pow.getRhs()); })
        .Case<math::ClampFOp>([&](auto clamp) {
          Value raised = arith::MaximumFOp::create(b, clamp.getValue(), clamp.getMin());
          return Value(arith::MinimumFOp::create(b, raised, clamp.getMax()));
        })
        .Case<math::FmaOp>([&](auto fma) { return has.hasFma ? Value() : f.fma(fma.getA(), fma.getB(), fma.getC()); })
        .Case<math::RoundEvenOp>([&](auto) { return has.hasRounding ? Value() : one(&MathFunctions::roundEven); })
        .Case<math::FloorOp>([&](auto) { return has.hasRounding ? Value() : one(&MathFunctions::floor); })
        .Case<math::RsqrtOp>([&](auto rsqrt) {
          Lanes root(b, math::SqrtOp::create(b, rsqrt.getOperand()));
          return Value(root.like(1.0) / root);
        })
        .Case<math::AbsFOp, math::CopySignOp, math::SqrtOp, math::IsNaNOp, math::IsInfOp, math::IsFiniteOp>([](auto) { return Value(); })
        .Default([](Operation *other) { return other->emitOpError() << "is not a function of the language, so there is no code for it"; });
  }

  /// The function that does what 'op' does.
  func::FuncOp functionOf(Operation *op) {
    Type type = op->getResult(0).getType();
    auto vector = dyn_cast<VectorType>(type);
    std::string name = (op->getName().getStringRef() + "$" + Twine(vector ? vector.getNumElements() : 0)).str();
    if (auto known = getOperation().lookupSymbol<func::FuncOp>(name))
      return known;
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto function = func::FuncOp::create(b, op->getLoc(), name, b.getFunctionType(op->getOperandTypes(), type));
    function.setPrivate();
    b.setInsertionPointToEnd(function.addEntryBlock());
    IRMapping arguments;
    arguments.map(op->getOperands(), function.getArguments());
    func::ReturnOp::create(b, op->getLoc(), b.clone(*op, arguments)->getResults());
    return function;
  }

  /// The arithmetic of one function is twenty ops and more: that of thousands would be most of the
  /// code.
  void callFunctions(SmallVector<Operation *> &ops) {
    SmallVector<Operation *> left;
    llvm::SetVector<Operation *> called;
    for (Operation *op : ops) {
      if (!isElementary(op)) {
        left.push_back(op);
        continue;
      }
      func::FuncOp function = functionOf(op);
      called.insert(&function.getBody().front().front());
      OpBuilder b(op);
      op->replaceAllUsesWith(func::CallOp::create(b, op->getLoc(), function, op->getOperands()));
      op->erase();
    }
    left.append(called.begin(), called.end());
    ops = std::move(left);
  }

  void runOnOperation() override {
    FailureOr<std::shared_ptr<const logitile::Target>> chosen = chooseTarget(getOperation(), target);
    if (failed(chosen))
      return signalPassFailure();
    const TargetFacts facts = (*chosen)->facts();
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ProgramOp, LossOp, KernelOp>(op)) // earlier stages stay as they are
        return WalkResult::skip();
      if (isa<math::MathDialect>(op->getDialect()) || isa<MultiplyNoNanOp, SigmoidOp, SoftplusOp, UniformOp>(op))
        ops.push_back(op);
      return WalkResult::advance();
    });
    if (facts.hasCheapCalls && llvm::count_if(ops, isElementary) > inlined)
      callFunctions(ops);
    SharedDraws draws;
    for (size_t i = 0; i < ops.size(); ++i) { // what an expansion uses is expanded in turn
      Operation *op = ops[i];
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Operation *before = op->getPrevNode();
      auto uniform = dyn_cast<UniformOp>(op);
      FailureOr<Value> value = uniform ? draws.draw(uniform) : expand(op, b, **chosen, facts.math);
      if (failed(value))
        return signalPassFailure();
      if (!*value)
        continue;
      for (Operation *made = before ? before->getNextNode() : &op->getBlock()->front(); made != op; made = made->getNextNode())
        if (isa<math::MathDialect>(made->getDialect()))
          ops.push_back(made);
      op->getResult(0).replaceAllUsesWith(*value);
      op->erase();
    }
  }
};
} // namespace
} // namespace logitile

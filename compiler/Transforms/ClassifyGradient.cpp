// ClassifyGradient.cpp - the pass that recognises gradients in which an entry weighs as much as its exponential. What
// follows from it is the business of choose-schedule.
#include "compiler/MatchValues.h"
#include "compiler/Passes.h"
#include "dialect/Logitile.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CLASSIFYGRADIENTPASS
#include "compiler/Passes.h.inc"

namespace {
bool readsLogits(Operation *op) {
  return op->walk([](InputOp input) { return input.getKind() == InputKind::Logits ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

/// One gradient, under the base whose running maximum the only sweep keeps.
class Classifier {
public:
  Classifier(Block &bound, Block &gradient) : gradient(gradient), base(bound.getTerminator()->getOperand(0)), matches(matchValues(bound, gradient)) {
    for (Operation &op : gradient) {
      auto input = dyn_cast<InputOp>(op);
      bool reads = input && input.getKind() == InputKind::Logits;
      if (reads || llvm::any_of(op.getOperands(), [&](Value operand) { return varies(operand); }))
        varying.insert_range(op.getResults());
    }
  }

  bool isExponential() const {
    return isOfOneProjection() && llvm::all_of(gradient.getOps<AdjointOp>(), [&](AdjointOp adjoint) {
      return !adjoint.getDense() || isTame(adjoint.getDense());
    });
  }

private:
  /// Differences of two projections, or of one and a Dense input, may be small where both are large.
  bool isOfOneProjection() const {
    int64_t logits = llvm::count_if(gradient.getOps<InputOp>(), [](InputOp input) { return input.getKind() == InputKind::Logits; });
    bool readsDense = llvm::any_of(gradient.getOps<InputOp>(), [](InputOp input) { return input.getKind() == InputKind::Dense; });
    return logits == 1 && !readsDense;
  }
  bool varies(Value value) const { return varying.contains(value); }

  /// The base of the maximum, times something positive, plus something: what its exponential is made of.
  bool isExponent(Value value) const {
    if (value == matches.lookupOrNull(base))
      return true;
    Operation *op = value.getDefiningOp();
    auto isLeft = [&] { return isExponent(op->getOperand(0)) && !varies(op->getOperand(1)); };
    auto isRight = [&] { return isExponent(op->getOperand(1)) && !varies(op->getOperand(0)); };
    if (isa<arith::AddFOp>(op))
      return isLeft() || isRight();
    if (isa<arith::SubFOp>(op))
      return isLeft();
    if (isa<arith::MulFOp>(op))
      return (isLeft() && !isNegative(op->getOperand(1))) || (isRight() && !isNegative(op->getOperand(0)));
    if (auto fma = dyn_cast<math::FmaOp>(op))
      return isProductOfBase(fma) && !varies(fma.getC());
    return false;
  }
  static bool isNegative(Value factor) {
    FloatAttr constant;
    return matchPattern(factor, m_Constant(&constant)) && constant.getValue().isNegative();
  }
  bool isProductOfBase(math::FmaOp fma) const {
    auto product = base.getDefiningOp<arith::MulFOp>();
    return product && matches.lookupOrNull(product.getLhs()) == fma.getA() && matches.lookupOrNull(product.getRhs()) == fma.getB();
  }

  /// Whether logits hardly have a say in 'value' where they are far below the largest, and a small one where they are not.
  bool isTame(Value value) const {
    if (isBounded(value) || isWeighted(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value part) { return isTame(part); });
    if (isa<arith::MulFOp, WeighOp>(op))
      return (isTame(op->getOperand(0)) && isBounded(op->getOperand(1))) || (isBounded(op->getOperand(0)) && isTame(op->getOperand(1)));
    auto select = dyn_cast<arith::SelectOp>(op);
    return select && !varies(select.getCondition()) && isTame(select.getTrueValue()) && isTame(select.getFalseValue());
  }
  /// A multiple of the exponential.
  bool isWeighted(Value value) const {
    Operation *op = value.getDefiningOp();
    if (isa<math::ExpOp>(op))
      return isExponent(op->getOperand(0));
    if (isa<arith::MulFOp, WeighOp>(op))
      return (isWeighted(op->getOperand(0)) && isSmooth(op->getOperand(1))) || (isWeighted(op->getOperand(1)) && isSmooth(op->getOperand(0)));
    if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value part) { return isWeighted(part); });
    return isa<arith::DivFOp>(op) && isWeighted(op->getOperand(0)) && !varies(op->getOperand(1));
  }
  /// Logits have no say in it, or only within the bounds of a hyperbolic tangent that the base goes through.
  bool isBounded(Value value) const {
    if (!varies(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (isa<math::TanhOp>(op))
      return llvm::any_of(matches.getValueMap(), [&](auto match) { return match.second == value; });
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value part) { return isBounded(part); });
  }
  /// Made by arithmetic without a jump or a kink.
  bool isSmooth(Value value) const {
    if (!varies(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (isa<InputOp>(op))
      return true;
    bool isArithmetic = isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, math::FmaOp, math::ExpOp, math::TanhOp, WeighOp>(op);
    return isArithmetic && llvm::all_of(op->getOperands(), [&](Value part) { return isSmooth(part); });
  }

  Block &gradient;
  Value base;
  IRMapping matches;
  llvm::DenseSet<Value> varying; // along with the logits
};

struct ClassifyGradientPass : impl::ClassifyGradientPassBase<ClassifyGradientPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SmallVector<SweepOp> sweeps;
    for (SweepOp sweep : program.getBody().getOps<SweepOp>())
      if (readsLogits(sweep))
        sweeps.push_back(sweep);
    if (sweeps.size() != 1 || sweeps[0].getBound().front().getTerminator()->getNumOperands() != 1)
      return;
    for (GradientOp gradient : program.getBody().getOps<GradientOp>())
      if (Classifier(sweeps[0].getBound().front(), gradient.getBody().front()).isExponential())
        gradient.setExponential(true);
  }
};
} // namespace
} // namespace logitile

// ClassifyGradient.cpp - the pass that recognises gradients in which an entry weighs as much as its exponential. What
// follows from it is the business of choose-schedule.
#include "compiler/KeptBase.h"
#include "compiler/Passes.h"
#include "dialect/Logitile.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

bool readsGathered(Block &block) { return !block.getOps<PickOp>().empty(); }

/// One gradient, under the base of the exponential whose running maximum the only sweep keeps. Kept in 16 bits, the base is off by
/// a part of 2^-12 of its distance from that maximum, and that of a softcap by such a part of itself.
class Classifier {
public:
  Classifier(Block &bound, Block &gradient) : gradient(gradient), base(bound, gradient) {
    for (Operation &op : gradient) {
      auto input = dyn_cast<InputOp>(op);
      bool reads = input && input.getKind() == InputKind::Logits;
      bool differs = isa<ColumnOp>(op) || (input && input.isVaryingInput());
      auto isOfAny = [&](const llvm::DenseSet<Value> &set) {
        return !isa<PickOp>(op) && llvm::any_of(op.getOperands(), [&](Value operand) { return set.contains(operand); });
      };
      if (reads || isOfAny(ofLogits))
        ofLogits.insert_range(op.getResults());
      if (differs || isOfAny(varying))
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
  bool isFixed(Value value) const { return !ofLogits.contains(value); }
  bool isUniform(Value value) const { return !varying.contains(value); }
  bool isBase(Value value) const { return value == base.inReader(); }

  /// By what the base is multiplied in an exponent, to which uniform values are added; 0 where it is something else.
  float scaleOf(Value value) const {
    Operation *op = value.getDefiningOp();
    if (base.isCapped() ? base.isTangent(value) : isBase(value))
      return 1;
    auto addend = [&](unsigned fixed, unsigned other) { return isUniform(op->getOperand(fixed)) ? scaleOf(op->getOperand(other)) : 0; };
    if (isa<arith::AddFOp>(op))
      return std::max(addend(0, 1), addend(1, 0));
    if (isa<arith::SubFOp>(op))
      return addend(1, 0);
    if (isa<arith::MulFOp>(op))
      return std::max(constantOf(op->getOperand(0)) * scaleOf(op->getOperand(1)), constantOf(op->getOperand(1)) * scaleOf(op->getOperand(0)));
    auto fma = dyn_cast<math::FmaOp>(op);
    return fma && base.isProductOf(fma) && isUniform(fma.getC()) ? 1 : 0;
  }
  static float constantOf(Value value) {
    FloatAttr constant;
    return matchPattern(value, m_Constant(&constant)) ? constant.getValue().convertToFloat() : 0;
  }
  /// A distance that f16 cannot hold must leave nothing of an exponential, one below its normal numbers all of it. A tangent
  /// is off by up to 0.45 * 2^-12.
  bool isExponent(Value value) const {
    constexpr float kLeast = 1.0f / 64, kMost = 1024, kMostOfCap = 64;
    float scale = scaleOf(value);
    return scale >= kLeast && scale <= (base.isCapped() ? kMostOfCap : kMost);
  }

  /// A multiple of the exponential.
  bool isWeighted(Value value) const {
    Operation *op = value.getDefiningOp();
    if (isa<math::ExpOp>(op))
      return isExponent(op->getOperand(0));
    if (isa<arith::MulFOp, WeighOp>(op))
      return (isWeighted(op->getOperand(0)) && isFactor(op->getOperand(1))) || (isWeighted(op->getOperand(1)) && isFactor(op->getOperand(0)));
    if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value part) { return isWeighted(part); });
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return isFixed(select.getCondition()) && isWeightedOrZero(select.getTrueValue()) && isWeightedOrZero(select.getFalseValue());
    return isa<arith::DivFOp>(op) && isWeighted(op->getOperand(0)) && isFixed(op->getOperand(1));
  }
  bool isWeightedOrZero(Value value) const { return matchPattern(value, m_AnyZeroFloat()) || isWeighted(value); }
  bool isFactor(Value value) const {
    if (isFixed(value) || isPolynomial(value) || isSlope(value) || isWeighted(value))
      return true;
    Operation *op = value.getDefiningOp();
    return isa<arith::MulFOp>(op) && isFactor(op->getOperand(0)) && isFactor(op->getOperand(1));
  }
  /// Of the base, the same for all entries. Under a softcap distances may be small where the base is large.
  bool isPolynomial(Value value) const {
    if (base.isCapped())
      return false;
    if (isUniform(value) || isBase(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (auto fma = dyn_cast<math::FmaOp>(op); fma && base.isProductOf(fma))
      return isUniform(fma.getC());
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, math::FmaOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value part) { return isPolynomial(part); });
  }
  /// The derivative of the tangent, 1 - t * t: off by as small a part of itself as the base, times twice the cap.
  bool isSlope(Value value) const {
    auto difference = value.getDefiningOp<arith::SubFOp>();
    auto square = difference ? difference.getRhs().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    return square && constantOf(difference.getLhs()) == 1 && square.getLhs() == square.getRhs() && base.isTangent(square.getLhs());
  }

  /// Sums of multiples of the exponential and of the slope, and of what is the same for all entries.
  bool isTame(Value value) const {
    if (isUniform(value) || isWeighted(value) || isSlope(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value part) { return isTame(part); });
    if (isa<arith::MulFOp, WeighOp>(op)) {
      auto isScale = [&](Value factor) { return isUniform(factor) || isSlope(factor); };
      return (isTame(op->getOperand(0)) && isScale(op->getOperand(1))) || (isScale(op->getOperand(0)) && isTame(op->getOperand(1)));
    }
    auto select = dyn_cast<arith::SelectOp>(op);
    return select && isUniform(select.getCondition()) && isTame(select.getTrueValue()) && isTame(select.getFalseValue());
  }

  Block &gradient;
  KeptBase base;
  llvm::DenseSet<Value> ofLogits, varying; // made of logits; different along the vocabulary
};

struct ClassifyGradientPass : impl::ClassifyGradientPassBase<ClassifyGradientPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SmallVector<SweepOp> sweeps;
    for (SweepOp sweep : program.getBody().getOps<SweepOp>())
      if (readsLogits(sweep))
        sweeps.push_back(sweep);
    if (sweeps.size() != 1)
      return;
    Block &bound = sweeps[0].getBound().front();
    if (bound.getTerminator()->getNumOperands() != 1 || readsGathered(bound))
      return;
    for (GradientOp gradient : program.getBody().getOps<GradientOp>())
      if (Classifier(bound, gradient.getBody().front()).isExponential())
        gradient.setExponential(true);
  }
};
} // namespace
} // namespace logitile

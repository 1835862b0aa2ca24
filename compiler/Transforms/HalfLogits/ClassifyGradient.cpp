// ClassifyGradient.cpp - the pass that recognises gradients in which an entry weighs as much as its
// exponential. What follows from it is the business of choose-schedule.
#include "compiler/Passes.h"
#include "compiler/Transforms/HalfLogits/StoredBase.h"
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CLASSIFYGRADIENTPASS
#include "compiler/Passes.h.inc"

namespace {
bool readsLogits(Operation *op) {
  return op->walk([](InputOp input) { return input.getKind() == InputKind::Logits ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool readsGathered(Block &block) { return !block.getOps<GatherOp>().empty(); }

/// Decides whether one gradient tolerates logits that are stored in 16 bits. What is stored is the
/// base (StoredBase.h) of the only sweep's exponential. Rounding it to 16 bits makes it wrong by up
/// to 2^-12 of its distance from the running maximum, or by up to 2^-12 of itself where it is that
/// of a softcap. Operations are classified in the order of the program: the class of an operation
/// follows from the classes of its operands.
class Classifier {
public:
  Classifier(Block &candidates, Block &gradient) : gradient(gradient), base(candidates, gradient) {
    for (Operation &op : gradient.without_terminator())
      classify(op);
  }

  bool isExponential() const {
    return isOfOneProjection() &&
           llvm::all_of(gradient.getOps<AdjointOp>(), [&](AdjointOp adjoint) { return !adjoint.getDense() || isTame(adjoint.getDense()); });
  }

private:
  using Values = llvm::DenseSet<Value>;

  /// Differences of two projections, or of one and a Dense input, may be small where both are
  /// large.
  bool isOfOneProjection() const {
    int64_t logits = llvm::count_if(gradient.getOps<InputOp>(), [](InputOp input) { return input.getKind() == InputKind::Logits; });
    bool readsDense = llvm::any_of(gradient.getOps<InputOp>(), [](InputOp input) { return input.getKind() == InputKind::Dense; });
    return logits == 1 && !readsDense;
  }

  void classify(Operation &op) {
    auto input = dyn_cast<InputOp>(op);
    auto isOfAny = [&](const Values &set) {
      return !isa<GatherOp>(op) && llvm::any_of(op.getOperands(), [&](Value operand) { return set.contains(operand); });
    };
    auto note = [&](Values &set, bool belongs) {
      if (belongs)
        set.insert_range(op.getResults());
    };
    note(ofLogits, (input && input.getKind() == InputKind::Logits) || isOfAny(ofLogits));
    note(varying, isa<ColumnOp>(op) || (input && input.isVaryingInput()) || isOfAny(varying));
    if (op.getNumResults() != 1)
      return;
    scales[op.getResult(0)] = scaleOf(op);
    note(slopes, isSlope(op));
    note(polynomials, isPolynomial(op));
    note(weighted, isWeighted(op));
    note(factors, isFactor(op));
    note(tame, isTame(op));
  }

  // ---- what a value is --------------------------------------------------------------------------

  bool isFixed(Value value) const { return !ofLogits.contains(value); }
  bool isUniform(Value value) const { return !varying.contains(value); }
  bool isWeightedOrZero(Value value) const { return matchPattern(value, m_AnyZeroFloat()) || weighted.contains(value); }
  bool isPolynomial(Value value) const { return isUniform(value) || polynomials.contains(value); }
  bool isFactor(Value value) const { return isFixed(value) || factors.contains(value); }
  bool isTame(Value value) const { return isUniform(value) || tame.contains(value); }
  bool isScale(Value value) const { return isUniform(value) || slopes.contains(value); }
  static float constantOf(Value value) {
    FloatAttr constant;
    return matchPattern(value, m_Constant(&constant)) ? constant.getValue().convertToFloat() : 0;
  }

  // ---- what an op makes -------------------------------------------------------------------------

  /// By what the base is multiplied in an exponent, to which uniform values are added; 0 where it
  /// is something else.
  float scaleOf(Operation &op) const {
    if (Value value = op.getResult(0); base.isCapped() ? base.isTanh(value) : value == base.inReader())
      return 1;
    auto addend = [&](unsigned fixed, unsigned other) { return isUniform(op.getOperand(fixed)) ? scales.lookup(op.getOperand(other)) : 0; };
    auto multiple = [&](unsigned factor, unsigned other) {
      return constantOf(op.getOperand(factor)) * scales.lookup(op.getOperand(other));
    };
    if (isa<arith::AddFOp>(op))
      return std::max(addend(0, 1), addend(1, 0));
    if (isa<arith::SubFOp>(op))
      return addend(1, 0);
    if (isa<arith::MulFOp>(op))
      return std::max(multiple(0, 1), multiple(1, 0));
    return 0;
  }
  /// A distance that f16 cannot hold must leave nothing of an exponential, one below its normal
  /// numbers all of it. A tanh is off by up to 0.45 * 2^-12.
  bool isExponent(Value value) const {
    constexpr float kLeast = 1.0f / 64, kMost = 1024, kMostOfCap = 64;
    float scale = scales.lookup(value);
    return scale >= kLeast && scale <= (base.isCapped() ? kMostOfCap : kMost);
  }
  /// The derivative of tanh, 1 - t * t: off by as small a part of itself as the base, times twice
  /// the cap.
  bool isSlope(Operation &op) const {
    auto square = isa<arith::SubFOp>(op) ? op.getOperand(1).getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    return square && constantOf(op.getOperand(0)) == 1 && square.getLhs() == square.getRhs() && base.isTanh(square.getLhs());
  }
  /// Of the base, the same for all entries. Under a softcap distances may be small where the base
  /// is large.
  bool isPolynomial(Operation &op) const {
    if (base.isCapped())
      return false;
    if (op.getResult(0) == base.inReader())
      return true;
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, math::FmaOp>(op) &&
           llvm::all_of(op.getOperands(), [&](Value part) { return isPolynomial(part); });
  }
  /// A multiple of the exponential.
  bool isWeighted(Operation &op) const {
    auto isMultiple = [&](unsigned part, unsigned factor) {
      return weighted.contains(op.getOperand(part)) && isFactor(op.getOperand(factor));
    };
    if (isa<math::ExpOp>(op))
      return isExponent(op.getOperand(0));
    if (isa<arith::MulFOp, MultiplyNoNanOp>(op))
      return isMultiple(0, 1) || isMultiple(1, 0);
    if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
      return llvm::all_of(op.getOperands(), [&](Value part) { return weighted.contains(part); });
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return isFixed(select.getCondition()) && isWeightedOrZero(select.getTrueValue()) && isWeightedOrZero(select.getFalseValue());
    return isa<arith::DivFOp>(op) && weighted.contains(op.getOperand(0)) && isFixed(op.getOperand(1));
  }
  /// What the exponential may be multiplied with.
  bool isFactor(Operation &op) const {
    Value value = op.getResult(0);
    return polynomials.contains(value) || slopes.contains(value) || weighted.contains(value) ||
           (isa<arith::MulFOp>(op) && isFactor(op.getOperand(0)) && isFactor(op.getOperand(1)));
  }
  /// Sums of multiples of the exponential and of the slope, and of what is the same for all
  /// entries.
  bool isTame(Operation &op) const {
    Value value = op.getResult(0);
    if (weighted.contains(value) || slopes.contains(value))
      return true;
    if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
      return llvm::all_of(op.getOperands(), [&](Value part) { return isTame(part); });
    if (isa<arith::MulFOp, MultiplyNoNanOp>(op))
      return (isTame(op.getOperand(0)) && isScale(op.getOperand(1))) || (isScale(op.getOperand(0)) && isTame(op.getOperand(1)));
    auto select = dyn_cast<arith::SelectOp>(op);
    return select && isUniform(select.getCondition()) && isTame(select.getTrueValue()) && isTame(select.getFalseValue());
  }

  Block &gradient;
  StoredBase base;
  Values ofLogits, varying; // made of logits; different along the vocabulary
  Values slopes, polynomials, weighted, factors, tame;
  llvm::DenseMap<Value, float> scales;
};

struct ClassifyGradientPass : impl::ClassifyGradientPassBase<ClassifyGradientPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SmallVector<SweepOp> all(program.getBody().getOps<SweepOp>()), sweeps;
    for (SweepOp sweep : all)
      if (sweep.getAlong() || sweep.getPicks() || readsLogits(sweep))
        sweeps.push_back(sweep);
    if (sweeps.size() != 1 || sweeps[0] != all[0]) // the first sweep keeps the logits, relative to its maximum
      return;
    Block &candidates = sweeps[0].getCandidate().front();
    if (candidates.getTerminator()->getNumOperands() != 1 || readsGathered(candidates))
      return;
    for (GradientOp gradient : program.getBody().getOps<GradientOp>())
      if (Classifier(candidates, gradient.getBody().front()).isExponential())
        gradient.setExponential(true);
  }
};
} // namespace
} // namespace logitile

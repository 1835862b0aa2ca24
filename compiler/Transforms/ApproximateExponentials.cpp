// ApproximateExponentials.cpp - the pass that says which exponentials may be made by an instruction
// that is less exact.
#include "compiler/Passes.h"
#include "compiler/Target/ModuleTarget.h"
#include "compiler/Transforms/RelativeExponentials.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_APPROXIMATEEXPONENTIALSPASS
#include "compiler/Passes.h.inc"

namespace {
/// Operands and Dense inputs of 16 bits are rounded by up to 2^-11 of themselves, and so are
/// gradients of logits: an exponential that is off by 2^-20 is not seen beside that. Those of f32
/// are rounded by 2^-24: there it would be the largest of all errors, and gradients that cancel
/// would show it.
bool toleratesApproximations(RequestAttr request) {
  auto isShort = [](Type element) { return !isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 16; };
  auto isShortProjection = [&](ProjectionAttr projection) { return isShort(projection.getElement()); };
  auto isShortDense = [&](NamedAttribute dense) { return isShort(cast<TypeAttr>(dense.getValue()).getValue()); };
  ArrayRef<ProjectionAttr> projections = request.getProjections();
  return !projections.empty() && llvm::all_of(projections, isShortProjection) && llvm::all_of(request.getDense(), isShortDense);
}

/// 2^(x log2(e)), without what rounding the product loses: |x| 2^-23 of the result. Where all there
/// is to it is a sum with a term of 1, a term with a large |x| is too small to be seen, or there
/// are exp(|x|) of them: of V entries, the sum is off by log(V) 2^-23 at most.
void addUpByExp2(math::ExpOp exponential) {
  auto isSum = [](Operation *user) { return isa<arith::AddFOp, arith::SubFOp>(user); };
  if (!llvm::all_of(exponential->getUsers(), isSum))
    return;
  ImplicitLocOpBuilder b(exponential.getLoc(), exponential);
  Value log2E = arith::ConstantOp::create(b, b.getF32FloatAttr(llvm::numbers::log2ef));
  Value exponent = arith::MulFOp::create(b, exponential.getOperand(), log2E);
  exponential.replaceAllUsesWith(Value(math::Exp2Op::create(b, exponent, arith::FastMathFlags::afn)));
  exponential.erase();
}

struct ApproximateExponentialsPass : impl::ApproximateExponentialsPassBase<ApproximateExponentialsPass> {
  void runOnOperation() override {
    FailureOr<std::shared_ptr<const Target>> target = chooseTarget(getOperation(), "");
    if (failed(target))
      return signalPassFailure();
    if (!(*target)->facts().math.hasApproximateExp2 || !toleratesApproximations(getRequest(getOperation())))
      return;
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) { // all of them: equal values have equal bits
      kernel.walk([](UpdateStateOp update) { llvm::for_each(findRelativeExponentials(update), addUpByExp2); });
      kernel.walk([](math::ExpOp exponential) { exponential.setFastmath(exponential.getFastmath() | arith::FastMathFlags::afn); });
    }
  }
};
} // namespace
} // namespace logitile

// ApproximateExponentials.cpp - the pass that says which exponentials may be made by an instruction that is less exact.
#include "compiler/Passes.h"
#include "compiler/Target/ModuleTarget.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_APPROXIMATEEXPONENTIALSPASS
#include "compiler/Passes.h.inc"

namespace {
/// Operands and Dense inputs of 16 bits are rounded by up to 2^-11 of themselves, and so are gradients of logits: an exponential that is
/// off by 2^-20 is not seen beside that. Those of f32 are rounded by 2^-24: there it would be the largest of all errors, and gradients
/// that cancel would show it.
bool toleratesApproximations(RequestAttr request) {
  auto isShort = [](Type element) { return !isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 16; };
  auto isShortProjection = [&](ProjectionAttr projection) { return isShort(projection.getElement()); };
  auto isShortDense = [&](NamedAttribute dense) { return isShort(cast<TypeAttr>(dense.getValue()).getValue()); };
  ArrayRef<ProjectionAttr> projections = request.getProjections();
  return !projections.empty() && llvm::all_of(projections, isShortProjection) && llvm::all_of(request.getDense(), isShortDense);
}

struct ApproximateExponentialsPass : impl::ApproximateExponentialsPassBase<ApproximateExponentialsPass> {
  void runOnOperation() override {
    FailureOr<std::shared_ptr<const Target>> target = chooseTarget(getOperation(), "");
    if (failed(target))
      return signalPassFailure();
    if (!(*target)->facts().math.hasApproximateExp2 || !toleratesApproximations(getRequest(getOperation())))
      return;
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) // all of them: equal values have equal bits
      kernel.walk([](math::ExpOp exponential) { exponential.setFastmath(exponential.getFastmath() | arith::FastMathFlags::afn); });
  }
};
} // namespace
} // namespace logitile

// ApproximateExponentials.cpp - the pass that says which exponentials may be made by an instruction that is less exact.
#include "compiler/Passes.h"
#include "compiler/Target/ModuleTarget.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_APPROXIMATEEXPONENTIALSPASS
#include "compiler/Passes.h.inc"

namespace {
/// Operands of 16 bits are off by 2^-12 of themselves and more, and so are the gradients that are rounded to them: an exponential that is
/// off by 2^-20 adds nothing that is seen. Those of f32 are off by 2^-25: there it would be the largest of all errors.
bool toleratesApproximations(RequestAttr request) {
  ArrayRef<ProjectionAttr> projections = request.getProjections();
  auto isShort = [](ProjectionAttr projection) { return projection.getElement().getIntOrFloatBitWidth() <= 16; };
  return !projections.empty() && llvm::all_of(projections, isShort);
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

// FlushSubnormals.cpp - the pass that keeps subnormal numbers out of gradients and sums of
// exponentials, on targets that are slow with them. How a kernel flushes is the business of its
// target's conversion.
#include "compiler/Passes.h"
#include "compiler/Target/ModuleTarget.h"
#include "compiler/Transforms/RelativeExponentials.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_FLUSHSUBNORMALSPASS
#include "compiler/Passes.h.inc"

namespace {
// exp of it is the smallest normal f32, rounded up.
constexpr float kLeastExponent = -87.336540f;

llvm::StringSet<> findLogitGradients(ModuleOp module) {
  llvm::StringSet<> names;
  for (ProgramOp program : module.getOps<ProgramOp>())
    for (ScheduleOp schedule : program.getBody().getOps<ScheduleOp>())
      for (BufferOp buffer : schedule.getBody().getOps<BufferOp>())
        if (buffer.getRole() == BufferRole::LogitGradient)
          names.insert(buffer.getSymName());
  return names;
}

/// Compared before the exponential, which so makes no subnormal number on the way. NaN stays.
void flush(math::ExpOp exponential) {
  ImplicitLocOpBuilder b(exponential.getLoc(), exponential);
  Value exponent = exponential.getOperand();
  Value least = arith::ConstantOp::create(b, b.getF32FloatAttr(kLeastExponent)), zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value isTiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, exponent, least);
  exponential.getOperandMutable().assign(arith::SelectOp::create(b, isTiny, least, exponent));
  b.setInsertionPointAfter(exponential);
  auto flushed = arith::SelectOp::create(b, isTiny, zero, exponential);
  exponential.getResult().replaceAllUsesExcept(flushed, flushed);
}

struct FlushSubnormalsPass : impl::FlushSubnormalsPassBase<FlushSubnormalsPass> {
  using FlushSubnormalsPassBase::FlushSubnormalsPassBase;

  void runOnOperation() override {
    FailureOr<std::shared_ptr<const Target>> chosen = chooseTarget(getOperation(), target);
    if (failed(chosen))
      return signalPassFailure();
    if (!(*chosen)->facts().isSlowWithSubnormals)
      return;
    llvm::StringSet<> gradients = findLogitGradients(getOperation());
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      bool usesGradients = llvm::any_of(kernel.getBody().getArguments(), [&](BlockArgument argument) {
        StringAttr buffer = kernel.bufferOf(argument);
        return buffer && gradients.contains(buffer);
      });
      kernel.setFlushesSubnormals(usesGradients);
      if (!usesGradients)
        kernel.walk([](UpdateStateOp update) { llvm::for_each(findRelativeExponentials(update), flush); });
    }
  }
};
} // namespace
} // namespace logitile

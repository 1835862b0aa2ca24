// FlushSubnormals.cpp - the pass that keeps subnormal numbers out of gradients and sums of exponentials, on targets that are slow
// with them. How a kernel flushes is the business of its target's conversion.
#include "compiler/Passes.h"
#include "compiler/Target/ModuleTarget.h"
#include "mlir/IR/Matchers.h"
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

/// A product with a constant becomes its other operand.
Value withoutScale(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (product && matchPattern(product.getLhs(), m_Constant()))
    return product.getRhs();
  return product && matchPattern(product.getRhs(), m_Constant()) ? product.getLhs() : value;
}

/// The exponentials of one update whose exponent is relative to a running maximum.
class RelativeExponentials {
public:
  explicit RelativeExponentials(UpdateStateOp update)
      : block(update.getUpdate().front()), maxima(update.getCandidate().front().getTerminator()->getNumOperands()) {}

  void flush() {
    for (math::ExpOp exponential : llvm::to_vector(block.getOps<math::ExpOp>()))
      if (isRelative(exponential.getOperand()))
        flush(exponential);
  }

private:
  bool isRelative(Value exponent) const {
    auto difference = withoutScale(exponent).getDefiningOp<arith::SubFOp>();
    auto maximum = difference ? dyn_cast<BlockArgument>(withoutScale(difference.getRhs())) : BlockArgument();
    return maximum && maximum.getOwner() == &block && maximum.getArgNumber() < maxima;
  }
  /// Compared before the exponential, which so makes no subnormal number on the way. NaN stays.
  static void flush(math::ExpOp exponential) {
    ImplicitLocOpBuilder b(exponential.getLoc(), exponential);
    Value exponent = exponential.getOperand();
    Value least = arith::ConstantOp::create(b, b.getF32FloatAttr(kLeastExponent)), zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    Value isTiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, exponent, least);
    exponential.getOperandMutable().assign(arith::SelectOp::create(b, isTiny, least, exponent));
    b.setInsertionPointAfter(exponential);
    auto flushed = arith::SelectOp::create(b, isTiny, zero, exponential);
    exponential.getResult().replaceAllUsesExcept(flushed, flushed);
  }

  Block &block;
  unsigned maxima;
};

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
        kernel.walk([](UpdateStateOp update) { RelativeExponentials(update).flush(); });
    }
  }
};
} // namespace
} // namespace logitile

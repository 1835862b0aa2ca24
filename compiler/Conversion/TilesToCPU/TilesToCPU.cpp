// TilesToCPU.cpp - the pass that turns kernels on tiles into functions on vectors and pointers. What an op becomes is in the
// file of its family.
#include "compiler/Conversion/Tier.h"
#include "compiler/Conversion/TilesToCPU/KernelContext.h"
#include "compiler/Passes.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CONVERTTILESTOCPUPASS
#include "compiler/Passes.h.inc"

namespace {
using namespace cpu;

LogicalResult convertKernel(KernelOp kernel, Emitter &e, Helpers &helpers) {
  e.setLoc(kernel.getLoc());
  func::FuncOp function = e.beginFunction(kernel.getSymName(), {e.pointerType, e.i64, e.pointerType});
  KernelContext context(kernel, e, helpers);
  if (failed(context.bindArguments(function)) || failed(context.convertBlock(kernel.getBody().front())))
    return failure();
  e.endFunction();
  function->setAttr("logitile.scratch_bytes", e.getI64IntegerAttr(context.scratchBytes()));
  return success();
}

struct ConvertTilesToCPUPass : impl::ConvertTilesToCPUPassBase<ConvertTilesToCPUPass> {
  using ConvertTilesToCPUPassBase::ConvertTilesToCPUPassBase;

  void runOnOperation() override {
    FailureOr<CpuTier> chosen = chooseTier(getOperation(), tier);
    if (failed(chosen))
      return signalPassFailure();
    Emitter e(getOperation(), *chosen);
    Helpers helpers(getOperation(), *chosen);
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>())) {
      // The function takes the kernel's name, so the kernel has to give it up first.
      kernel->remove();
      LogicalResult converted = convertKernel(kernel, e, helpers);
      kernel->destroy();
      if (failed(converted))
        return signalPassFailure();
    }
  }
};
} // namespace
} // namespace logitile

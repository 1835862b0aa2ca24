// TilesToCPU.cpp - the pass that turns kernels on tiles into functions on vectors and pointers.
// What an op becomes is in the file of its family.
#include "compiler/Backends/CPU/CPUTarget.h"
#include "compiler/Backends/CPU/Passes.h"
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
#include "compiler/Conversion/Tiles/ConvertKernels.h"
#include "compiler/Target/ModuleTarget.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CONVERTTILESTOCPUPASS
#include "compiler/Backends/CPU/Passes.h.inc"

namespace {
using namespace cpu;

/// The code of a kernel between its first and its last line, where subnormal numbers count as zero.
class FlushedSubnormals {
public:
  explicit FlushedSubnormals(KernelContext &k) : e(k.e), before(k.allocate(e.i32, 1)) {
    // Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3: FTZ
    // and DAZ.
    constexpr int64_t kFlushToZero = 1 << 15, kDenormalsAreZero = 1 << 6;
    Place flushing = k.allocate(e.i32, 1);
    call("llvm.x86.sse.stmxcsr", before);
    Value bits = arith::OrIOp::create(e, e.loadBits(before, 0), e.number(e.i32, kFlushToZero | kDenormalsAreZero));
    e.storeBits(bits, flushing);
    call("llvm.x86.sse.ldmxcsr", flushing);
  }
  void end() { call("llvm.x86.sse.ldmxcsr", before); }

private:
  void call(StringRef intrinsic, Place word) { LLVM::CallIntrinsicOp::create(e, e.getStringAttr(intrinsic), ValueRange{word.pointer}); }

  Emitter &e;
  Place before;
};

LogicalResult convertKernel(KernelOp kernel, Emitter &e, Helpers &helpers) {
  e.setLoc(kernel.getLoc());
  func::FuncOp function = e.beginFunction(kernel.getSymName(), {e.pointerType, e.i64, e.pointerType, e.pointerType});
  constexpr StringLiteral names[] = {"arguments", "task", "scratch", "checkpoint"}; // outlives the loop, unlike a list in its header
  for (auto [argument, name] : llvm::zip_equal(function.getArguments(), names))
    argument.setLoc(NameLoc::get(e.getStringAttr(name), kernel.getLoc()));
  KernelContext context(kernel, e, helpers);
  if (failed(context.bindArguments(function)))
    return failure();
  std::optional<FlushedSubnormals> flushed;
  if (kernel.getFlushesSubnormals())
    flushed.emplace(context);
  if (failed(context.convertBlock(kernel.getBody().front())))
    return failure();
  if (flushed)
    flushed->end();
  e.endFunction();
  eraseDeadOps(function.getBody());
  function->setAttr("logitile.scratch_bytes", e.getI64IntegerAttr(context.scratchBytes()));
  return success();
}

struct ConvertTilesToCPUPass : impl::ConvertTilesToCPUPassBase<ConvertTilesToCPUPass> {
  using ConvertTilesToCPUPassBase::ConvertTilesToCPUPassBase;

  void runOnOperation() override {
    FailureOr<std::shared_ptr<const logitile::Target>> chosen = chooseTarget(getOperation(), target);
    if (failed(chosen))
      return signalPassFailure();
    const CPUTarget *cpu = CPUTarget::from(**chosen);
    if (!cpu) {
      getOperation().emitOpError() << "is for target '" << (*chosen)->name() << "'; expected a target such as cpu:avx2";
      return signalPassFailure();
    }
    Emitter e(getOperation(), cpu->tier);
    Helpers helpers(getOperation(), cpu->tier);
    if (failed(convertKernels(getOperation(), [&](KernelOp kernel) { return convertKernel(kernel, e, helpers); })))
      return signalPassFailure();
  }
};
} // namespace
} // namespace logitile

//===- Passes.td - the passes of NVIDIA GPUs ---------------------------------------------------------------------===//
#ifndef LOGITILE_NVPTX_PASSES_TD
#define LOGITILE_NVPTX_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertTilesToCUDAPass : Pass<"convert-tiles-to-cuda", "mlir::ModuleOp"> {
  let summary = "kernels on tiles become the code of GPU threads";
  let description = [{
    Before: `logitile.kernel`s and programs, in a module whose `logitile.request` names a CUDA
    target. After: for each kernel an `llvm.func @name` with `nvvm.kernel`, of scf, arith, math,
    vector, nvvm and llvm pointer ops: the code of one thread. Its arguments are those of the kernel
    in order, a global pointer and two strides in elements (i64) for a view, an i64 for a scalar.
    Block number b is task b; task numbers run through the axes of the `scf.forall`, the last one
    fastest. `logitile.threads` is the number of threads of a block, `logitile.shared_bytes` the
    dynamic shared memory of a launch, `@shared$memory`. Programs are not changed.

    Products run on tensor cores (m16n8k16, sums in f32), fed by a pipeline of asynchronous copies;
    operands of f32 are loaded instead.
    An f32 operand is split into three bf16 planes; six of the nine products of planes are computed.
    Row states are updated by the threads that have the products: first by the threads of a row,
    then by its warps. On sm_90a a product `using wgmma` runs on warpgroups. Copies have 16 bytes if
    an operand's strides and address allow that, which the code tests once.
    Refuses: views that are not strided, tiles that tensor cores cannot divide, and more shared
    memory than a block has.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect",
                           "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}
#endif

//===- Passes.td - the passes of NVIDIA GPUs ---------------------------------------------------------------------===//
#ifndef LOGITILE_NVPTX_PASSES_TD
#define LOGITILE_NVPTX_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertTilesToCUDAPass : Pass<"convert-tiles-to-cuda", "mlir::ModuleOp"> {
  let summary = "kernels on tiles become the code of GPU threads";
  let description = [{
    Before: `logitile.kernel`s beside programs, in a module whose `logitile.request` names a CUDA target. After: for each
    an `llvm.func @name` with `nvvm.kernel`, of scf, arith, math, vector, nvvm and llvm pointer ops: the code of one
    thread. Its arguments are those of the kernel in order, a global pointer and two strides in elements (i64) for a view,
    an i64 for a scalar. Block number b is task b, which counts through the axes of the `scf.forall`, the last one fastest.
    `logitile.threads` are the threads of a block, `logitile.shared_bytes` the dynamic shared memory that a launch gives
    it, `@shared$memory`. Programs stay as they are.

    Products run on tensor cores (m16n8k16, sums in f32), fed by a pipeline of asynchronous copies; f32 operands are three
    bf16 planes, six products of which count. Row states are folded where the products lie: first by the threads of a row,
    then by its warps. On sm_90a a product `using wgmma` is one of warpgroups. Copies are 16 bytes where an operand's
    strides and address allow it, which the code tests once.
    Refuses: views that are not strided, tiles that tensor cores cannot cut, and more shared memory than a block has.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect",
                           "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}
#endif

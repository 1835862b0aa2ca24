//===- Passes.td - the passes of CPUs ----------------------------------------------------------------------------===//
#ifndef LOGITILE_CPU_PASSES_TD
#define LOGITILE_CPU_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertTilesToCPUPass : Pass<"convert-tiles-to-cpu", "mlir::ModuleOp"> {
  let summary = "kernels on tiles become functions on vectors and pointers";
  let description = [{
    Before: `logitile.kernel`s and programs. After: for each kernel a `func.func @name(%arguments:
    !llvm.ptr, %task: i64, %scratch: !llvm.ptr)` of scf, arith, math, one-dimensional vector and
    llvm pointer ops, with the bytes of scratch that it needs as `logitile.scratch_bytes`, and
    private functions that they share: microkernels, copies, packing. Arguments are 64-bit words in
    the order of the kernel's arguments: pointer and two strides in elements for a view, one word
    for a scalar. The task number runs through the axes of the `scf.forall`, the last one fastest.
    Views of one dimension and `[vocabulary split][token]` states are contiguous. Memory whose lanes
    are tokens is padded after the last token, up to the next multiple of the panel width. Programs
    are not changed.
    Refuses: layouts and element types that an op cannot use on this target, tiles of tokens that
    are not a multiple of the panel width, tiles that reach past the end of a vocabulary split.
  }];
  let options = [Option<"target", "target", "std::string", "", "such as cpu:avx2; the default is that of the module's request">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect",
                           "mlir::math::MathDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}
#endif

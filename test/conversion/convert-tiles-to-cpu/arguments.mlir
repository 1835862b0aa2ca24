// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// Arguments are 64-bit words in order: one for a scalar, pointer and two strides for a view.

// CHECK: func.func @copy(%[[WORDS:.*]]: !llvm.ptr, %[[TASK:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr, %[[CHECKPOINT:.*]]: !llvm.ptr) attributes {logitile.scratch_bytes = 0 : i64}
// CHECK: %[[COUNT:.*]] = llvm.load %[[WORDS]] {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK: %[[X_AT:.*]] = llvm.getelementptr %[[WORDS]][1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[X:.*]] = llvm.load %[[X_AT]] {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[OUT_AT:.*]] = llvm.getelementptr %[[WORDS]][4] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[OUT:.*]] = llvm.load %[[OUT_AT]] {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK: call @copy_f32_f32
logitile.kernel @copy(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %out: !logitile.view<?xf32> from @out) {
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %out at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// A kernel that flushes subnormal numbers sets FTZ and DAZ for itself alone: the caller's bits come
// back.

// CHECK-LABEL: func.func @flushes(
// CHECK: %[[BOTH:.*]] = arith.constant 32832 : i32
// CHECK: llvm.call_intrinsic "llvm.x86.sse.stmxcsr"(%[[BEFORE:.*]]) : (!llvm.ptr) -> ()
// CHECK: %[[BITS:.*]] = llvm.load %[[BEFORE]] {{.*}}: !llvm.ptr -> i32
// CHECK: %[[SET:.*]] = arith.ori %[[BITS]], %[[BOTH]] : i32
// CHECK: llvm.store %[[SET]], %[[NOW:[0-9]+]] {{.*}}: i32, !llvm.ptr
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[NOW]]) : (!llvm.ptr) -> ()
// CHECK: scf.for
// CHECK: }
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[BEFORE]]) : (!llvm.ptr) -> ()
// CHECK-NEXT: return
logitile.kernel @flushes(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %g: !logitile.view<?x8xf32, column_major> from @g) attributes {flushes_subnormals} {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    logitile.store %tile to %g at [%row, %zero] : !logitile.tile<64x8xf32> to !logitile.view<?x8xf32, column_major>
  }
}
// CHECK-LABEL: func.func @keeps(
// CHECK-NOT: mxcsr
logitile.kernel @keeps(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %g: !logitile.view<?x8xf32, column_major> from @g) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    logitile.store %tile to %g at [%row, %zero] : !logitile.tile<64x8xf32> to !logitile.view<?x8xf32, column_major>
  }
}

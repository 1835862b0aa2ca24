// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// Two kernels that copy the same types call one function.

// CHECK: func.func @first(
// CHECK: func.call @copy_f32_bf16
// CHECK: func.func private @copy_f32_bf16({{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>}
// CHECK: func.func @second(
// CHECK: func.call @copy_f32_bf16
// CHECK-NOT: func.func
logitile.kernel @first(%x: !logitile.view<8x8xf32> from @x, %out: !logitile.view<8x8xbf16> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (8) step (4) {
    %tile = logitile.load %x at [%row, %zero] : !logitile.view<8x8xf32> -> !logitile.tile<4x8xf32>
    logitile.store %tile to %out at [%row, %zero] : !logitile.tile<4x8xf32> to !logitile.view<8x8xbf16>
  }
}
logitile.kernel @second(%x: !logitile.view<16x8xf32> from @x, %out: !logitile.view<16x8xbf16> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (16) step (4) {
    %tile = logitile.load %x at [%row, %zero] : !logitile.view<16x8xf32> -> !logitile.tile<4x8xf32>
    logitile.store %tile to %out at [%row, %zero] : !logitile.tile<4x8xf32> to !logitile.view<16x8xbf16>
  }
}

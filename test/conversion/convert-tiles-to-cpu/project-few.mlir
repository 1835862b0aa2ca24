// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 | FileCheck %s
// Hidden states in rows, not in panels: dot products with the hidden axis in the lanes. Up to six
// tokens meet four rows of the head at a time, as they lie in memory, and fewer come in powers of
// two. More tokens meet eight rows, three at a time. What is left of the rows comes one by one.

// CHECK-LABEL: func.func @project(
// CHECK-NOT: multiply
// Rows whose elements are no neighbours are copied first.
// CHECK: scf.for
// CHECK: func.call @copy_bf16_bf16
// CHECK: arith.select {{.*}} : !llvm.ptr
// CHECK: func.call @dots_4_6_of_40_bf16_bf16
// CHECK: func.call @dots_4_4_of_40_bf16_bf16
// CHECK: func.call @dots_4_2_of_40_bf16_bf16
// CHECK: func.call @dots_4_1_of_40_bf16_bf16
// CHECK: func.call @dots_1_1_of_40_bf16_bf16
// CHECK: func.call @dots_8_3_of_40_bf16_bf16
// CHECK: func.call @dots_8_1_of_40_bf16_bf16

// One row of the next block is brought in for each row's share of the steps, 32 of the hidden axis
// in one vector.
// CHECK: func.func private @dots_4_6_of_40_bf16_bf16
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.intr.prefetch
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// The last 8 of 40 elements are read through a mask.
// CHECK: llvm.intr.masked.load {{.*}} -> vector<32xi16>
// CHECK: vector.reduction <add>, {{.*}} fastmath<reassoc>

logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x40xbf16> from @x, %w: !logitile.view<141x40xbf16> from @w,
                         %z: !logitile.view<?x141xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 141) step (64, 141) {
    %tile = logitile.project %x, %w at [%row, %column] by 32 using dot_products : !logitile.view<?x40xbf16>, !logitile.view<141x40xbf16> -> !logitile.tile<64x141xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x141xf32> to !logitile.view<?x141xf32, column_major>
  }
}

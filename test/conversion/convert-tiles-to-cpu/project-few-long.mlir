// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx2 | FileCheck %s --check-prefix=AVX2
// Rows of 9 KB that meet more than six tokens come in parts of 2 KB, so that eight of them stay in
// the L1 cache. Six tokens use a row only once, so for them rows come whole.

// CHECK-LABEL: func.func @project(
// CHECK: func.call @dots_4_6_of_2304_f32_f32(
// Sums of the parts start from zero.
// CHECK: func.call @clear_f32
// CHECK: scf.for
// CHECK: func.call @dots_8_3_of_2304_f32_f32_inner_512
// CHECK: func.call @dots_8_1_of_2304_f32_f32_inner_512
// CHECK: func.call @dots_8_3_of_2304_f32_f32_last_256

// A part keeps vectors of sums; the last part adds up what is in them.
// CHECK: func.func private @dots_8_3_of_2304_f32_f32_inner_512
// CHECK-NOT: vector.reduction
// CHECK: func.func private @dots_8_1_of_2304_f32_f32_inner_512
// CHECK: func.func private @dots_8_3_of_2304_f32_f32_last_256
// CHECK: vector.reduction <add>

// With 16 registers, four rows meet two tokens, whatever their number.
// AVX2-LABEL: func.func @project(
// AVX2-NOT: dots_8
// AVX2: func.call @dots_4_2_of_2304_f32_f32(
// AVX2: func.call @dots_4_1_of_2304_f32_f32(
// AVX2-NOT: inner
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x2304xf32> from @x, %w: !logitile.view<141x2304xf32> from @w,
                         %z: !logitile.view<?x141xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 141) step (64, 141) {
    %tile = logitile.project %x, %w at [%row, %column] by 32 using dot_products : !logitile.view<?x2304xf32>, !logitile.view<141x2304xf32> -> !logitile.tile<64x141xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x141xf32> to !logitile.view<?x141xf32, column_major>
  }
}

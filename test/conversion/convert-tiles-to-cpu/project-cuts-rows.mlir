// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// 112 rows of the head are 8 blocks of 14. The 80 that are left of 304 are 2 blocks of 14 and 4 of
// 13: two sizes that differ by one, so that no weak remainder is left.

// CHECK-LABEL: func.func @project(
// CHECK: %[[FULL:.*]] = arith.cmpi eq, %{{.*}}, %c112{{.*}} : i64
// CHECK: scf.if %[[FULL]] {
// CHECK:   scf.for %{{.*}} = %c0{{.*}} to %c8{{.*}} step %c1
// CHECK:     func.call @multiply_rows_14_f32
// CHECK: } else {
// CHECK:   scf.for %{{.*}} = %c0{{.*}} to %c2{{.*}} step %c1
// CHECK:     func.call @multiply_rows_14_f32
// CHECK:   scf.for %{{.*}} = %c0{{.*}} to %c4{{.*}} step %c1
// CHECK:     func.call @multiply_rows_13_f32
// CHECK: func.func private @multiply_rows_14_f32
// CHECK-COUNT-28: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: func.func private @multiply_rows_13_f32
// CHECK-NOT: func.func private @multiply_rows
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x64xf32, row_panels> from @x, %w: !logitile.view<304x64xf32> from @w,
                         %z: !logitile.view<?x304xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 304) step (64, 112) {
    %tile = logitile.project %x, %w at [%row, %column] by 64 using panels : !logitile.view<?x64xf32, row_panels>, !logitile.view<304x64xf32> -> !logitile.tile<64x112xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x112xf32> to !logitile.view<?x304xf32, column_major>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// While a block of rows is multiplied, a share of what the next one reads is fetched: the next 32
// hidden entries of the same rows, or the first ones of the next tile.

// CHECK-LABEL: func.func @project(
// CHECK: scf.for %[[FIRST:.*]] = %c0{{.*}} to %c64{{.*}} step %c32
// CHECK:   func.call @copy_f32_f32
// CHECK:   %[[LAST:.*]] = arith.cmpi ult, %c63{{.*}}, %{{.*}} : i64
// CHECK:   arith.select %[[LAST]]
// CHECK:   func.call @fetch(
// CHECK:   func.call @multiply_rows_14_f32
// CHECK: func.func private @fetch(
// CHECK: scf.for
// CHECK: scf.for %{{.*}} step %c64
// CHECK: "llvm.intr.prefetch"({{.*}}hint = 2

// Sums start at zero; those in memory, which are fetched first, are added after the loop.
// CHECK: func.func private @multiply_rows_14_f32(
// CHECK-COUNT-28: "llvm.intr.prefetch"
// CHECK: %[[SUMS:.*]]:28 = scf.for
// CHECK: scf.if
// CHECK: %[[KNOWN:.*]] = llvm.load
// CHECK: %[[BOTH:.*]] = arith.addf %[[KNOWN]], %[[SUMS]]#0
// CHECK: llvm.store %[[BOTH]]
// CHECK: } else {
// CHECK: llvm.store %[[SUMS]]#0
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x64xf32, row_panels> from @x, %w: !logitile.view<28x64xf32> from @w,
                         %z: !logitile.view<?x28xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 28) step (64, 14) {
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x64xf32, row_panels>, !logitile.view<28x64xf32> -> !logitile.tile<64x14xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x14xf32> to !logitile.view<?x28xf32, column_major>
  }
}

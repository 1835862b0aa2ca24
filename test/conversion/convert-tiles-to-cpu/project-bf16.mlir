// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 | FileCheck %s
// Pairs of bf16 multiply as they lie in memory: one 32-bit broadcast, half as many steps, rows of
// the head copied as they are.

// CHECK-LABEL: func.func @project(
// CHECK: func.call @copy_bf16_bf16
// CHECK: func.call @multiply_rows_14_bf16({{.*}}%c16_i64
// CHECK: func.func private @multiply_rows_14_bf16
// CHECK: %[[PAIR:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK: %[[ALL:.*]] = vector.broadcast %[[PAIR]] : i32 to vector<16xi32>
// CHECK: %[[LEFT:.*]] = llvm.bitcast %[[ALL]] : vector<16xi32> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[LEFT]], %{{.*}})
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x32xbf16, row_panels> from @x, %w: !logitile.view<140x32xbf16> from @w,
                         %z: !logitile.view<?x140xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 140) step (64, 14) {
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xbf16, row_panels>, !logitile.view<140x32xbf16> -> !logitile.tile<64x14xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x14xf32> to !logitile.view<?x140xf32, column_major>
  }
}

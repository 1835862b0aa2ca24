// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// The number of tokens is known at run time only. Where blocks of 14 and 13 give it exactly, these
// are used; else blocks of 14, then of 4 and of 1 for what is left: every size takes time to
// compile. The gradient is packed for these blocks: 14 tokens of one vocabulary entry beside those
// of the next one.

// CHECK-LABEL: func.func @contract(
// CHECK: func.call @pack_14_lines_f32_f32
// CHECK: func.call @pack_f32_f32
// CHECK: %[[LEAST:.*]] = arith.muli %{{.*}}, %c13{{.*}} : i64
// CHECK: %[[FEW:.*]] = arith.cmpi ult, %[[ROWS:.*]], %[[LEAST]] : i64
// CHECK: scf.if %[[FEW]] {
// CHECK:   arith.divui %[[ROWS]], %c14
// CHECK:   func.call @multiply_columns_14_f32
// CHECK:   func.call @multiply_columns_4_f32
// CHECK:   func.call @multiply_columns_1_f32
// CHECK: } else {
// CHECK:   func.call @multiply_columns_14_f32
// CHECK:   func.call @multiply_columns_13_f32
logitile.kernel @contract(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %w: !logitile.view<96x32xf32> from @w, %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using panels : !logitile.view<?x96xf32, column_major>, !logitile.view<96x32xf32> -> !logitile.tile<64x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

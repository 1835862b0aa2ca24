// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// What is there is loaded only where the launch says `accumulate`; then the first block adds as
// well.

// CHECK-LABEL: func.func @contract(
// CHECK: %[[AGAIN:.*]] = arith.cmpi ne, %{{.*}}, %c0{{.*}} : i64
// CHECK: scf.if %[[AGAIN]] {
// CHECK:   func.call @copy_f32_f32
// CHECK: scf.for %[[FIRST:.*]] = %c0{{.*}} to
// CHECK: %[[LATER:.*]] = arith.cmpi ult, %c0{{.*}}, %[[FIRST]] : i64
// CHECK: %[[ADDS:.*]] = arith.ori %[[LATER]], %[[AGAIN]] : i1
// CHECK: func.call @multiply_rows_14_f32({{.*}}, %[[ADDS]])
logitile.kernel @contract(%n: index from tokens, %accumulate: i1 from accumulate_tokens, %g: !logitile.view<?x28xf32, column_major> from @g, %x: !logitile.view<?x32xf32, column_panels> from @x, %out: !logitile.view<28x32xf32> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (28) step (14) {
    %sum = logitile.contract %g transposed, %x at [%row, %zero] over [%zero to %n] by 48 using panels plus %out when %accumulate
        : !logitile.view<?x28xf32, column_major>, !logitile.view<?x32xf32, column_panels> plus !logitile.view<28x32xf32> -> !logitile.tile<14x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<14x32xf32> to !logitile.view<28x32xf32>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// A task's number counts through the axes of the forall, that of the shorter step fastest.

// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[TASK:[a-z0-9]*]]: i64
// CHECK-DAG: %[[SPLITS:.*]] = arith.constant 3 : i64
// CHECK: %[[SPLIT:.*]] = arith.remui %[[TASK]], %[[SPLITS]] : i64
// CHECK: %[[REST:.*]] = arith.divui %[[TASK]], %[[SPLITS]] : i64
// CHECK: %[[ROW:.*]] = arith.muli %[[REST]], %c64_i64 : i64
logitile.kernel @sum(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %out: !logitile.view<3x?xf32> from @out) {
  scf.forall (%row, %vocab_split) = (0, 0) to (%n, 3) step (64, 1) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %out at [%vocab_split, %row] : !logitile.tile<64x1xf32> to !logitile.view<3x?xf32>
  }
}

// The rows are three tiles of 64, and each lies before the next columns.
// CHECK-LABEL: func.func @copy(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[TASK:[a-z0-9]*]]: i64
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 3 : i64
// CHECK: %[[ROW:.*]] = arith.remui %[[TASK]], %[[ROWS]] : i64
// CHECK: %[[REST:.*]] = arith.divui %[[TASK]], %[[ROWS]] : i64
// CHECK: arith.muli %[[ROW]], %c64_i64 : i64
// CHECK: arith.muli %[[REST]], %c128_i64 : i64
logitile.kernel @copy(%x: !logitile.view<192x512xf32> from @x, %out: !logitile.view<192x512xf32> from @out) {
  scf.forall (%row, %column) = (0, 0) to (192, 512) step (64, 128) {
    %tile = logitile.load %x at [%row, %column] : !logitile.view<192x512xf32> -> !logitile.tile<64x128xf32>
    logitile.store %tile to %out at [%row, %column] : !logitile.tile<64x128xf32> to !logitile.view<192x512xf32>
  }
}

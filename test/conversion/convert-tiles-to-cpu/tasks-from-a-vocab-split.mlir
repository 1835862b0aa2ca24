// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// An axis may start and end at scalars of the launch, and at their products with constants.

// CHECK-LABEL: func.func @clear(
// CHECK-SAME: %[[WORDS:[a-z0-9]*]]: !llvm.ptr, %[[TASK:[a-z0-9]*]]: i64
// CHECK: %[[FIRST:.*]] = llvm.load %[[WORDS]]
// CHECK: %[[START:.*]] = arith.muli %[[FIRST]], %{{.*}} : i64
// CHECK: %[[OFFSET:.*]] = arith.muli %[[TASK]], %{{.*}} : i64
// CHECK: arith.addi %[[START]], %[[OFFSET]] : i64
logitile.kernel @clear(%first: index from vocab_split_first, %split_end: index from vocab_split_end, %x: !logitile.view<100x8xf32> from @x, %out: !logitile.view<100x8xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 100 : index
  %columns = arith.constant 32 : index
  %start = arith.muli %first, %columns : index
  %unclipped = arith.muli %split_end, %columns : index
  %end = arith.minui %unclipped, %v : index
  scf.forall (%row) = (%start) to (%end) step (16) {
    %tile = logitile.load %x at [%row, %zero] : !logitile.view<100x8xf32> -> !logitile.tile<16x8xf32>
    logitile.store %tile to %out at [%row, %zero] : !logitile.tile<16x8xf32> to !logitile.view<100x8xf32>
  }
}

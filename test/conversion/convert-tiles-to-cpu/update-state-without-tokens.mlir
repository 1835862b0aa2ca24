// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// A sweep that reads nothing of a token has the same result for all of them: every row of the state
// takes it, not the first group of lanes alone.

// CHECK-LABEL: func.func @sweep(
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 64 : i64
// CHECK-DAG: %[[LANES:.*]] = arith.constant 16 : i64
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step %[[LANES]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step %[[LANES]]
// CHECK:   %[[SUM:.*]] = scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<16xf32>)
logitile.kernel @sweep(%n: index from tokens, %v: !logitile.view<1x8xf32> from @vocab_v, %ps: !logitile.view<1x?xf32> from @s) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start = logitile.init_state : !logitile.tile<64x1xf32> {
      %c0 = arith.constant 0.0 : f32
      logitile.yield %c0 : f32
    }
    %tile = logitile.load %v at [%zero, %zero] : !logitile.view<1x8xf32> -> !logitile.tile<1x8xf32>
    %state = logitile.update_state(%start) with (%tile) at %zero below 8 : (!logitile.tile<64x1xf32>), (!logitile.tile<1x8xf32>) init {
      %c0 = arith.constant 0.0 : f32
      logitile.yield %c0 : f32
    } candidate {
    ^bb0(%x: f32):
      logitile.yield
    } update {
    ^bb0(%s: f32, %x: f32):
      %next = arith.addf %s, %x : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%sa: f32, %sb: f32, %x: f32):
      %s = arith.addf %sa, %sb : f32
      logitile.yield %s : f32
    }
    logitile.store %state to %ps at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
  }
}

// RUN: logitile-opt %s --logitile-flush-subnormals=target=cpu:avx512 | FileCheck %s
// RUN: logitile-opt %s --logitile-flush-subnormals=target=cuda:sm_90 | FileCheck %s --check-prefix=FAST

// An exponential relative to the running maximum never is a subnormal number, not even on the way.
// One of anything else stays, as does that of the merge, of which there is one for each tile.
// CHECK: } update {
// CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %[[SUM:[a-z_0-9]*]]: f32, %[[Z:.*]]: f32):
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[MAX]], %[[HALF]] : f32
// CHECK-NEXT: %[[OWN:.*]] = arith.mulf %[[HALF]], %[[Z]] : f32
// CHECK-NEXT: %[[EXPONENT:.*]] = arith.subf %[[OWN]], %[[SCALED]] : f32
// CHECK-NEXT: %[[LEAST:.*]] = arith.constant -87.33{{.*}} : f32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[TINY:.*]] = arith.cmpf olt, %[[EXPONENT]], %[[LEAST]] : f32
// CHECK-NEXT: %[[NORMAL:.*]] = arith.select %[[TINY]], %[[LEAST]], %[[EXPONENT]] : f32
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[NORMAL]] : f32
// CHECK-NEXT: %[[FLUSHED:.*]] = arith.select %[[TINY]], %[[ZERO]], %[[EXP]] : f32
// CHECK-NEXT: %[[FREE:.*]] = math.exp %[[Z]] : f32
// CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[FLUSHED]], %[[FREE]] : f32
// CHECK: } merge {
// CHECK-NOT: arith.select
// FAST-NOT: arith.cmpf
logitile.kernel @sweep(%count: index from tokens, %z: !logitile.view<?x32xf32, column_major> from @stored_z) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %rows:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest, %lowest : f32, f32
    }
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x32xf32, column_major> -> !logitile.tile<64x32xf32>
    %next:2 = logitile.update_state(%rows#0, %rows#1) with (%tile) at %zero below 32
        : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest, %lowest : f32, f32
    } candidate {
    ^bb0(%value: f32):
      logitile.yield %value : f32
    } update {
    ^bb0(%max: f32, %sum: f32, %value: f32):
      %half = arith.constant 0.5 : f32
      %scaled = arith.mulf %max, %half : f32
      %own = arith.mulf %half, %value : f32
      %exponent = arith.subf %own, %scaled : f32
      %exp = math.exp %exponent : f32
      %free = math.exp %value : f32
      %both = arith.addf %exp, %free : f32
      %all = arith.addf %sum, %both : f32
      logitile.yield %max, %all : f32, f32
    } merge {
    ^bb0(%max_a: f32, %sum_a: f32, %max_b: f32, %sum_b: f32, %value: f32):
      %moved = arith.subf %max_a, %max_b : f32
      %exp = math.exp %moved : f32
      logitile.yield %max_b, %exp : f32, f32
    }
  }
}

// An exponential relative to the running maximum, of which nothing but a sum is made, is the
// instruction for 2^x itself. One with another use is as exact as all others are, and so is that of
// the merge.
// RUN: sed 's/$ELEMENT/bf16/' %s | logitile-opt --logitile-approximate-exponentials | FileCheck %s
// RUN: sed 's/$ELEMENT/f32/' %s | logitile-opt --logitile-approximate-exponentials | FileCheck %s --check-prefix=EXACT

// CHECK: } update {
// CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %[[SUM:[a-z_0-9]*]]: f32, %[[MEAN:[a-z_0-9]*]]: f32, %[[Z:.*]]: f32):
// CHECK-NEXT: %[[EXPONENT:.*]] = arith.subf %[[Z]], %[[MAX]] : f32
// CHECK-NEXT: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[EXPONENT]], %[[LOG2E]] : f32
// CHECK-NEXT: %[[EXP:.*]] = math.exp2 %[[SCALED]] fastmath<afn> : f32
// CHECK-NEXT: arith.addf %[[SUM]], %[[EXP]] : f32
// CHECK: %[[HALF:.*]] = math.exp %{{.*}} fastmath<afn> : f32
// CHECK-NEXT: arith.mulf %[[HALF]], %[[Z]] : f32
// CHECK: %[[FREE:.*]] = math.exp %[[Z]] fastmath<afn> : f32
// CHECK-NEXT: arith.addf %{{.*}}, %[[FREE]] : f32
// CHECK: } merge {
// CHECK: math.exp %{{.*}} fastmath<afn> : f32
// EXACT-NOT: math.exp2
// EXACT-NOT: afn
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = $ELEMENT>],
    dense = {}, gradients = [], mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false,
    target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @sweep(%count: index from tokens, %z: !logitile.view<?x32xf32> from @stored_z) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%count) step (64) {
      %rows:3 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
        %lowest = arith.constant 0xFF7FFFFF : f32
        logitile.yield %lowest, %lowest, %lowest : f32, f32, f32
      }
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x32xf32> -> !logitile.tile<64x32xf32>
      %next:3 = logitile.update_state(%rows#0, %rows#1, %rows#2) with (%tile) at %zero below 32
          : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
        %lowest = arith.constant 0xFF7FFFFF : f32
        logitile.yield %lowest, %lowest, %lowest : f32, f32, f32
      } candidate {
      ^bb0(%value: f32):
        logitile.yield %value : f32
      } update {
      ^bb0(%max: f32, %sum: f32, %mean: f32, %value: f32):
        %exponent = arith.subf %value, %max : f32
        %exp = math.exp %exponent : f32
        %all = arith.addf %sum, %exp : f32
        %half = arith.constant 0.5 : f32
        %less = arith.mulf %exponent, %half : f32
        %weight = math.exp %less : f32
        %weighted = arith.mulf %weight, %value : f32
        %free = math.exp %value : f32
        %both = arith.addf %weighted, %free : f32
        %moments = arith.addf %mean, %both : f32
        logitile.yield %max, %all, %moments : f32, f32, f32
      } merge {
      ^bb0(%max_a: f32, %sum_a: f32, %mean_a: f32, %max_b: f32, %sum_b: f32, %mean_b: f32, %value: f32):
        %moved = arith.subf %max_a, %max_b : f32
        %exp = math.exp %moved : f32
        logitile.yield %max_b, %exp, %exp : f32, f32, f32
      }
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// The states of all vocabulary splits are joined in order, then the finish makes the results.
// CHECK-LABEL: logitile.kernel @after(%tokens: index from tokens,
// CHECK-SAME: %state_s_sum: !logitile.view<3x?xf32> from @state_s_sum, %scale: !logitile.view<1xf32> from @scale, %known_scaled: !logitile.view<?xf32> from @known_scaled) {
// CHECK: %vocab_splits = arith.constant 3 : index
// CHECK: scf.forall (%row) = (0) to (%tokens) step (%tm) {
// CHECK: %[[IN:.*]] = logitile.load %scale at [%{{.*}}] : !logitile.view<1xf32> -> !logitile.tile<1x1xf32>
// CHECK-NEXT: %start = logitile.init_state : !logitile.tile<64x1xf32> {
// CHECK: %state = scf.for %vocab_split = %zero to %vocab_splits step %one iter_args(%running = %start) -> (!logitile.tile<64x1xf32>) {
// CHECK-NEXT: %other = logitile.load %state_s_sum at [%vocab_split, %row] : !logitile.view<3x?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: %both = logitile.map(%running, %other, %[[IN]]) merges : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<1x1xf32>) -> !logitile.tile<64x1xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT: logitile.yield %[[SUM]] : f32
// CHECK: %result = logitile.map(%state, %[[IN]]) : (!logitile.tile<64x1xf32>, !logitile.tile<1x1xf32>) -> !logitile.tile<64x1xf32> {
// CHECK-NEXT: ^bb0(%[[STATE:.*]]: f32, %[[SCALE:.*]]: f32):
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[STATE]], %[[SCALE]] : f32
// CHECK-NEXT: logitile.yield %[[SCALED]] : f32
// CHECK: logitile.store %result to %known_scaled at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>

// Without a sweep there are no rows: nothing is joined.
// CHECK-LABEL: logitile.kernel @without(%tokens: index from tokens,
// CHECK-SAME: %cotangent_loss: !logitile.view<?xf32> from @cotangent_loss, %known_down: !logitile.view<?xf32> from @known_down) {
// CHECK-NOT: logitile.init_state
// CHECK: %in = logitile.load %cotangent_loss at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: scf.for %vocab_split = %zero to %vocab_splits step %one {
// CHECK-NEXT: }
// CHECK-NEXT: %result = logitile.map(%in) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    logitile.yield %sum : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.finish @f forward of @s results ["scaled" : f32] {
  ^bb0(%sum: f32):
    %scale = logitile.input scalar "scale" : f32
    %scaled = arith.mulf %sum, %scale : f32
    logitile.yield %scaled : f32
  }
  logitile.finish @g backward results ["down" : f32] {
    %up = logitile.input cotangent "loss" : f32
    %down = arith.negf %up : f32
    logitile.yield %down : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @scale call input of "scale" : !logitile.view<1xf32>
    logitile.buffer @cotangent_loss call cotangent of "loss" : !logitile.view<?xf32>
    logitile.buffer @known_scaled chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @known_down chunk result of @g[0] : !logitile.view<?xf32>
    logitile.buffer @state_s_sum chunk row_state of @s[0] : !logitile.view<3x?xf32>
    logitile.run forward {
      logitile.launch "after" from @finish<TM = 64> sweep @s finish @f
      logitile.launch "without" from @finish<TM = 64> finish @g
    }
  }
}

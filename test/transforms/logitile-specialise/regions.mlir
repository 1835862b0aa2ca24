// RUN: %specialise %s | FileCheck %s

// The regions of a sweep as they stand in its kernel: what they read becomes arguments, constants
// stay, maxima come first. The limit is the vocabulary, so that the last tile leaves out what lies
// after it.
// CHECK-LABEL: logitile.kernel @sweep(
// CHECK: %start:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
// CHECK-NEXT: %[[LOWEST:.*]] = arith.constant -3.40282347E+38 : f32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: logitile.yield %[[LOWEST]], %[[ZERO]] : f32, f32
// CHECK: %next:2 = logitile.update_state(%running, %running_{{[0-9]+}}) with(%z, %in) at %column below 301 :
// CHECK-SAME: (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>, !logitile.tile<1x32xf32>) init {
// CHECK-NEXT: %[[LOWEST:.*]] = arith.constant -3.40282347E+38 : f32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: logitile.yield %[[LOWEST]], %[[ZERO]] : f32, f32
// CHECK-NEXT: } candidate {
// CHECK-NEXT: ^bb0(%[[Z:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[Z]], %[[BIAS]] : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32
// CHECK-NEXT: } update {
// CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %[[SUM:.*]]: f32, %[[Z:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[Z]], %[[BIAS]] : f32
// CHECK-NEXT: %[[SHIFTED:.*]] = arith.subf %[[X]], %[[MAX]] : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[SHIFTED]] : f32
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[E]] : f32
// CHECK-NEXT: logitile.yield %[[MAX]], %[[NEXT]] : f32, f32
// CHECK-NEXT: } merge {
// CHECK-NEXT: ^bb0(%[[MA:.*]]: f32, %{{.*}}: f32, %[[MB:.*]]: f32, %[[SB:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[M:.*]] = arith.maxnumf %[[MA]], %[[MB]] : f32
// CHECK-NEXT: logitile.yield %[[M]], %[[SB]] : f32, f32
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 301 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["max" : f32, "sum" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero : f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %x = arith.addf %z, %bias : f32
    logitile.yield %x : f32
  } update {
  ^bb0(%max: f32, %sum: f32):
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %x = arith.addf %z, %bias : f32
    %shifted = arith.subf %x, %max : f32
    %e = math.exp %shifted : f32
    %next = arith.addf %sum, %e : f32
    logitile.yield %max, %next : f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %m = arith.maxnumf %ma, %mb : f32
    logitile.yield %m, %sb : f32, f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 301 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<301x24xf32>
    logitile.buffer @bias call input of "bias" : !logitile.view<301xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x301xf32>
    logitile.buffer @state_s_max chunk row_state of @s[0] : !logitile.view<4x?xf32>
    logitile.buffer @state_s_sum chunk row_state of @s[1] : !logitile.view<4x?xf32>
    logitile.run forward {
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> sweep @s
    }
  }
}

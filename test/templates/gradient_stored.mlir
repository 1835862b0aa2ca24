// RUN: %specialise %s | FileCheck %s

// Stored logits become gradients in place; sums for a Vocab input and the gradient of a Dense input
// are made beside.
// CHECK-LABEL: logitile.kernel @gradient(%tokens: index from tokens, %tokens_map: !logitile.view<?xi32> from @tokens_map,
// CHECK-SAME: %stored_z: !logitile.view<?x300xf32> from @stored_z, %q: !logitile.view<?x300xbf16> from @q, %map_q: !logitile.view<?xi32> from @map_q,
// CHECK-SAME: %target: !logitile.view<?xi32> from @target, %known_row: !logitile.view<?xf32> from @known_row, %grad_z: !logitile.view<?x300xf32> from @grad_z,
// CHECK-SAME: %blocks_bias: !logitile.view<?x300xf32> from @blocks_bias, %gradient_q: !logitile.view<?x300xbf16> from @gradient_q, %state_fused_sum: !logitile.view<3x?xf32> from @state_fused_sum) attributes {aliases = {
// CHECK: %block = arith.divui %row, %tm : index
// CHECK: %z = logitile.load %stored_z at [%row, %column] : !logitile.view<?x300xf32> -> !logitile.tile<64x32xf32>
// CHECK-NEXT: %in = logitile.load %q at [%row, %column] through %map_q : !logitile.view<?x300xbf16>, !logitile.view<?xi32> -> !logitile.tile<64x32xf32>
// CHECK-NEXT: %next = logitile.update_state(%running) with(%z, %in) at %column below 300 :
// CHECK: %g:3 = logitile.map(%z, %in) at %column : (!logitile.tile<64x32xf32>, !logitile.tile<64x32xf32>) -> (!logitile.tile<64x32xf32>, !logitile.tile<64x32xf32>, !logitile.tile<64x32xf32>) {
// CHECK-NEXT: ^bb0(%[[Z:.*]]: f32, %[[Q:.*]]: f32):
// CHECK-NEXT: %[[DIFFERENCE:.*]] = arith.subf %[[Z]], %[[Q]] : f32
// CHECK-NEXT: %[[NEGATIVE:.*]] = arith.negf %[[Z]] : f32
// CHECK-NEXT: logitile.yield %[[DIFFERENCE]], %[[DIFFERENCE]], %[[NEGATIVE]] : f32, f32, f32
// CHECK: %exact = logitile.sparse_terms add %g#0, [%target, %known_row] at [%row, %column] below %tokens : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
// CHECK-NEXT: logitile.store %exact to %grad_z at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x300xf32>
// CHECK-NEXT: logitile.store %g#2 to %gradient_q at [%row, %column] through %tokens_map : !logitile.tile<64x32xf32> to !logitile.view<?x300xbf16>, !logitile.view<?xi32>
// CHECK-NEXT: %sums = logitile.sum_tokens %g#1 at %row below %tokens : !logitile.tile<64x32xf32> -> !logitile.tile<1x32xf32>
// CHECK-NEXT: logitile.store %sums to %blocks_bias at [%block, %column] : !logitile.tile<1x32xf32> to !logitile.view<?x300xf32>
// CHECK: logitile.store %state to %state_fused_sum at [%vocab_split, %row] : !logitile.tile<64x1xf32> to !logitile.view<3x?xf32>
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @fused fused state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    %z = logitile.input logits "z" : f32
    %q = logitile.input dense "q" : f32
    %zq = arith.mulf %z, %q : f32
    %next = arith.addf %sum, %zq : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.finish @f backward results ["row" : f32] {
    %up = logitile.input cotangent "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %q = logitile.input dense "q" : f32
    %target = logitile.input token "target" : i32
    %row = logitile.known <@f[0]> : f32
    %difference = arith.subf %z, %q : f32
    %negative = arith.negf %z : f32
    logitile.adjoint logits "z" dense %difference sparse [%target -> %row]
    logitile.adjoint vocab "bias" dense %difference
    logitile.adjoint dense "q" dense %negative
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @map_q call input_map of "q" : !logitile.view<?xi32>
    logitile.buffer @q input input of "q" : !logitile.view<?x300xbf16>
    logitile.buffer @gradient_q output input_gradient of "q" : !logitile.view<?x300xbf16>
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_row chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x300xf32>
    logitile.buffer @blocks_bias chunk input_blocks of "bias" per 64 : !logitile.view<?x300xf32>
    logitile.buffer @state_fused_sum chunk row_state of @fused[0] : !logitile.view<3x?xf32>
    logitile.run forward {
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32> sweep @fused
    }
  }
}

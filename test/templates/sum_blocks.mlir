// RUN: %specialise %s | FileCheck %s

// The blocks of tokens are summed in order, sparse terms are added at their columns.
// CHECK-LABEL: logitile.kernel @bias(%tokens: index from tokens, %accumulate_tokens: i1 from accumulate_tokens, %blocks_bias: !logitile.view<?x300xf32> from @blocks_bias,
// CHECK-SAME: %target: !logitile.view<?xi32> from @target, %known_row: !logitile.view<?xf32> from @known_row, %gradient_bias: !logitile.view<1x300xf32> from @gradient_bias) {
// CHECK: %blocks = arith.ceildivui %tokens, %tm : index
// CHECK-NEXT: scf.forall (%column) = (0) to (%v) step (%tn) {
// CHECK-NEXT: %sum = logitile.sum_rows %blocks_bias at %column below %blocks plus %gradient_bias when %accumulate_tokens : !logitile.view<?x300xf32> plus !logitile.view<1x300xf32> -> !logitile.tile<1x32xf32>
// CHECK-NEXT: %exact = logitile.sparse_terms sum %sum, [%target, %known_row] at [%zero, %column] below %tokens : !logitile.tile<1x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
// CHECK-NEXT: logitile.store %exact to %gradient_bias at [%zero, %column] : !logitile.tile<1x32xf32> to !logitile.view<1x300xf32>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f backward results ["row" : f32] {
    %up = logitile.input cotangent "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %row = logitile.known <@f[0]> : f32
    logitile.adjoint vocab "bias" dense %z sparse [%target -> %row]
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_row chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @blocks_bias chunk input_blocks of "bias" per 64 : !logitile.view<?x300xf32>
    logitile.buffer @gradient_bias call input_gradient of "bias" : !logitile.view<1x300xf32>
    logitile.run backward {
      logitile.loop tokens 512 {
        logitile.launch "bias" from @sum_blocks<TM = 64, TN = 32, acc = f32> input "bias" views {partial = @blocks_bias, out = @gradient_bias} accumulate tokens
      }
    }
  }
}

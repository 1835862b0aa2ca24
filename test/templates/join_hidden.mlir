// RUN: %specialise %s | FileCheck %s

// Three parts of dX lie side by side. They are added in order; then sparse terms come in, and rows
// go through the map.
// CHECK-LABEL: logitile.kernel @join(
// CHECK-SAME: %sum_z_hidden: !logitile.view<?x72xf32> from @sum_z_hidden
// CHECK: scf.forall (%row, %column) = (0, 0) to (%tokens, %d) step (%tm, %td) {
// CHECK-NEXT: %first = logitile.load %sum_z_hidden at [%row, %column] : !logitile.view<?x72xf32> -> !logitile.tile<64x8xf32>
// CHECK: %total = scf.for %part = %one to %parts step %one iter_args(%before = %start) -> (!logitile.tile<64x8xf32>) {
// CHECK-NEXT: %offset = arith.muli %part, %width : index
// CHECK-NEXT: %at = arith.addi %offset, %column : index
// CHECK-NEXT: %next = logitile.load %sum_z_hidden at [%row, %at]
// CHECK-NEXT: %added = logitile.map(%before, %next)
// CHECK: scf.yield %added
// CHECK: %exact = logitile.contract_sparse %total, [%target, %known_row], %z_weight at [%row, %column] below %tokens
// CHECK-NEXT: logitile.store %exact to %gradient_z_hidden at [%row, %column] through %tokens_map
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f backward results ["row" : f32] {
    %up = logitile.input cotangent "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %row = logitile.known <@f[0]> : f32
    logitile.adjoint logits "z" dense %z sparse [%target -> %row]
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xbf16>
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_row chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x300xbf16>
    logitile.buffer @sum_z_hidden chunk hidden_sum of "z" : !logitile.view<?x72xf32>
    logitile.buffer @gradient_z_hidden output hidden_gradient of "z" : !logitile.view<?x24xbf16>
    logitile.run backward {
      logitile.launch "join" from @join_hidden<TM = 64, TD = 8, PARTS = 3, WIDTH = 24, ROW = 72, D = 24, in = bf16, out = bf16>
          input "z" views {sum = @sum_z_hidden, weight = @z_weight, out = @gradient_z_hidden}
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// dW = G^T X for all vocabulary splits, added to what earlier chunks of tokens left. An unrounded
// gradient holds its sparse terms.
// CHECK-LABEL: logitile.kernel @weight(%tokens: index from tokens, %accumulate_tokens: i1 from accumulate_tokens,
// CHECK-SAME: %grad_z: !logitile.view<?x300xf32> from @grad_z, %packed_z_columns: !logitile.view<?x24xf32, column_panels> from @packed_z_columns,
// CHECK-SAME: %gradient_z_weight: !logitile.view<300x24xf32> from @gradient_z_weight) {
// CHECK: %vocabSplitFirst = arith.constant 0 : index
// CHECK: %vocabSplitEnd = arith.constant 3 : index
// CHECK: scf.forall (%row, %column) = (%first, %zero) to (%end, %d) step (%tn, %td) {
// CHECK-NEXT: %sum = logitile.contract %grad_z transposed, %packed_z_columns at [%row, %column] over [%zero to %tokens] by 16 using panels plus %gradient_z_weight when %accumulate_tokens : !logitile.view<?x300xf32>, !logitile.view<?x24xf32, column_panels> plus !logitile.view<300x24xf32> -> !logitile.tile<32x8xf32>
// CHECK-NEXT: logitile.store %sum to %gradient_z_weight at [%row, %column] : !logitile.tile<32x8xf32> to !logitile.view<300x24xf32>
// CHECK-NEXT: }
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
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_row chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x300xf32>
    logitile.buffer @packed_z_columns chunk packed_columns of "z" : !logitile.view<?x24xf32, column_panels>
    logitile.buffer @gradient_z_weight output weight_gradient of "z" : !logitile.view<300x24xf32>
    logitile.run backward {
      logitile.loop tokens 512 {
        logitile.launch "weight" from @contract_weight<TN = 32, TD = 8, TK = 16, D = 24, op = f32, g = f32, out = f32, acc = f32> using panels
            input "z" views {grad = @grad_z, hidden = @packed_z_columns, out = @gradient_z_weight, unscaled = @packed_z_columns} accumulate tokens
      }
    }
  }
}

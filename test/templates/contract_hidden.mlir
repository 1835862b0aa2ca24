// RUN: %specialise %s | FileCheck %s

// dX = G W, whole; the sparse terms that were taken out of a rounded G come in unrounded, and rows
// go through the map.
// CHECK-LABEL: logitile.kernel @hidden(%tokens: index from tokens, %tokens_map: !logitile.view<?xi32> from @tokens_map, %grad_z: !logitile.view<?x300xbf16> from @grad_z,
// CHECK-SAME: %z_weight: !logitile.view<300x24xbf16> from @z_weight, %target: !logitile.view<?xi32> from @target, %known_row: !logitile.view<?xf32> from @known_row,
// CHECK-SAME: %gradient_z_hidden: !logitile.view<?x24xbf16> from @gradient_z_hidden) {
// CHECK: scf.forall (%row, %column) = (0, 0) to (%tokens, %d) step (%tm, %td) {
// CHECK-NEXT: %sum = logitile.contract %grad_z, %z_weight at [%row, %column] over [%first to %end] by 16 using panels plus %gradient_z_hidden when %accumulate : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> plus !logitile.view<?x24xbf16> -> !logitile.tile<64x8xf32>
// CHECK-NEXT: %exact = logitile.contract_sparse %sum, [%target, %known_row], %z_weight at [%row, %column] below %tokens : !logitile.tile<64x8xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<300x24xbf16>
// CHECK-NEXT: logitile.store %exact to %gradient_z_hidden at [%row, %column] through %tokens_map : !logitile.tile<64x8xf32> to !logitile.view<?x24xbf16>, !logitile.view<?xi32>
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
    logitile.buffer @gradient_z_hidden output hidden_gradient of "z" : !logitile.view<?x24xbf16>
    logitile.run backward {
      logitile.launch "hidden" from @contract_hidden<TM = 64, TD = 8, TK = 16, D = 24, in = bf16, g = bf16, out = bf16, acc = f32> using panels
          input "z" views {grad = @grad_z, weight = @z_weight, out = @gradient_z_hidden}
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// Logits are recomputed; a gradient that is rounded gives up its sparse terms to memory.
// CHECK-LABEL: logitile.kernel @gradient(%tokens: index from tokens, %vocab_split_first: index from vocab_split_first, %vocab_split_end: index from vocab_split_end,
// CHECK-SAME: %tokens_map: !logitile.view<?xi32> from @tokens_map, %z_hidden: !logitile.view<?x24xbf16> from @z_hidden,
// CHECK-SAME: %z_weight: !logitile.view<300x24xbf16> from @z_weight, %target: !logitile.view<?xi32> from @target,
// CHECK-SAME: %known_row: !logitile.view<?xf32> from @known_row, %grad_z: !logitile.view<?x300xbf16> from @grad_z) {
// CHECK: scf.forall (%row, %vocab_split) = (%zero, %vocab_split_first) to (%tokens, %vocab_split_end) step (%tm, 1) {
// CHECK: scf.for %column = %first to %end step %tn {
// CHECK-NEXT: %tile = arith.divui %column, %centreColumns : index
// CHECK-NEXT: %z = logitile.project %z_hidden, %z_weight at [%row, %column] by 16 using panels : !logitile.view<?x24xbf16>, !logitile.view<300x24xbf16> -> !logitile.tile<64x32xf32>
// CHECK-NEXT: %g = logitile.map(%z) at %column : (!logitile.tile<64x32xf32>) -> !logitile.tile<64x32xf32> {
// CHECK: %rest = logitile.sparse_terms extract %g, [%target, %known_row] at [%row, %column] below %tokens : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
// CHECK-NEXT: logitile.store %rest to %grad_z at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x300xbf16>
// CHECK-NEXT: }
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f backward results ["row" : f32] {
    %up = logitile.input cotangent "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %row = logitile.known <@f[0]> : f32
    %p = math.exp %z : f32
    logitile.adjoint logits "z" dense %p sparse [%target -> %row]
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xbf16>
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_row chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" window 200 : !logitile.view<?x300xbf16>
    logitile.run backward {
      logitile.loop vocab_splits 2 from 0 to 3 {
        logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32> using panels
      }
    }
  }
}

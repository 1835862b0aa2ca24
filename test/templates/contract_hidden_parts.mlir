// RUN: %specialise %s | FileCheck %s

// Each part of dX = G W goes over as many entries of the vocabulary as the others, but the last,
// and has columns of its own.
// CHECK-LABEL: logitile.kernel @hidden(%tokens: index from tokens, %grad_z: !logitile.view<?x300xbf16> from @grad_z,
// CHECK-SAME: %z_weight: !logitile.view<300x24xbf16> from @z_weight, %sum_z_hidden: !logitile.view<?x72xf32> from @sum_z_hidden) {
// CHECK: scf.forall (%row, %part, %column) = (0, 0, 0) to (%tokens, %parts, %d) step (%tm, 1, %td) {
// CHECK-NEXT: %first = arith.muli %part, %entries : index
// CHECK-NEXT: %unclipped = arith.addi %first, %entries : index
// CHECK-NEXT: %end = arith.minui %unclipped, %v : index
// CHECK-NEXT: %product = logitile.contract %grad_z, %z_weight at [%row, %column] over [%first to %end] by 16 using mma_sync : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> -> !logitile.tile<64x8xf32>
// CHECK: %at = arith.addi %offset, %column : index
// CHECK-NEXT: logitile.store %product to %sum_z_hidden at [%row, %at] : !logitile.tile<64x8xf32> to !logitile.view<?x72xf32>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    logitile.adjoint logits "z" dense %z
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xbf16>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x300xbf16>
    logitile.buffer @sum_z_hidden chunk hidden_sum of "z" : !logitile.view<?x72xf32>
    logitile.run backward {
      logitile.launch "hidden" from @contract_hidden_parts<TM = 64, TD = 8, TK = 16, PARTS = 3, ENTRIES = 112, WIDTH = 24, ROW = 72, D = 24, in = bf16, g = bf16, acc = f32>
          using mma_sync input "z" views {grad = @grad_z, weight = @z_weight, sum = @sum_z_hidden}
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// A part of dX = G W over the vocabulary splits of the loop, clipped by the vocabulary and added to
// the parts before it.
// CHECK-LABEL: logitile.kernel @part(%tokens: index from tokens, %vocab_split_first: index from vocab_split_first, %vocab_split_end: index from vocab_split_end,
// CHECK-SAME: %accumulate_vocab_splits: i1 from accumulate_vocab_splits, %grad_z: !logitile.view<?x300xbf16> from @grad_z, %z_weight: !logitile.view<300x24xbf16> from @z_weight,
// CHECK-SAME: %sum_z_hidden: !logitile.view<?x24xf32> from @sum_z_hidden) {
// CHECK: %first = arith.muli %vocab_split_first, %vocabSplitColumns : index
// CHECK-NEXT: %unclipped = arith.muli %vocab_split_end, %vocabSplitColumns : index
// CHECK-NEXT: %end = arith.minui %unclipped, %v : index
// CHECK-NEXT: scf.forall (%row, %column) = (0, 0) to (%tokens, %d) step (%tm, %td) {
// CHECK-NEXT: %sum = logitile.contract %grad_z, %z_weight at [%row, %column] over [%first to %end] by 16 using panels plus %sum_z_hidden when %accumulate_vocab_splits : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> plus !logitile.view<?x24xf32> -> !logitile.tile<64x8xf32>
// CHECK-NEXT: logitile.store %sum to %sum_z_hidden at [%row, %column] : !logitile.tile<64x8xf32> to !logitile.view<?x24xf32>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xbf16>
    logitile.buffer @grad_z chunk logit_gradient of "z" window 200 : !logitile.view<?x300xbf16>
    logitile.buffer @sum_z_hidden chunk hidden_sum of "z" : !logitile.view<?x24xf32>
    logitile.run backward {
      logitile.loop vocab_splits 2 from 0 to 3 {
        logitile.launch "part" from @contract_hidden<TM = 64, TD = 8, TK = 16, D = 24, in = bf16, g = bf16, out = f32, acc = f32> using panels
            part views {grad = @grad_z, weight = @z_weight, out = @sum_z_hidden} accumulate vocab_splits
      }
    }
  }
}

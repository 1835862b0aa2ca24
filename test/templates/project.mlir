// RUN: %specialise %s | FileCheck %s

// The logits of one projection, for the first two of three vocabulary splits, stored as they are.
// CHECK-LABEL: logitile.kernel @project_z(%tokens: index from tokens,
// CHECK-SAME: %packed_z_rows: !logitile.view<?x64xbf16> from @packed_z_rows, %z_weight: !logitile.view<300x64xbf16> from @z_weight,
// CHECK-SAME: %stored_z: !logitile.view<?x300xf32> from @stored_z) {
// CHECK: %vocabSplitEnd = arith.constant 2 : index
// CHECK: scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokens, %vocabSplitEnd) step (%tm, 1) {
// CHECK: scf.for %column = %first to %end step %tn {
// CHECK-NEXT: %z = logitile.project %packed_z_rows, %z_weight at [%row, %column] by 32 using mma_sync : !logitile.view<?x64xbf16>, !logitile.view<300x64xbf16> -> !logitile.tile<32x16xf32>
// CHECK-NEXT: logitile.store %z to %stored_z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x300xf32>
// CHECK-NEXT: }
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 112 stored 224 {
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x64xbf16>
    logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x64xbf16>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.run forward {
      logitile.launch "project_z" from @project<TM = 32, TN = 16, TK = 32, D = 64, in = bf16, op = bf16, acc = f32> using mma_sync
          views {hidden = @packed_z_rows, stored = @stored_z, weight = @z_weight} vocab_splits [0, 2]
    }
  }
}

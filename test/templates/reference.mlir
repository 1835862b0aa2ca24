// RUN: %specialise %s | FileCheck %s

// The running maximum of the first tile of a vocabulary split becomes a result of the finish.
// CHECK-LABEL: logitile.kernel @reference(
// CHECK-SAME: %known_reference: !logitile.view<?xf32> from @known_reference) {
// CHECK: scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokens, %vocabSplitEnd) step (%tm, 1) {
// CHECK: %end = arith.addi %first, %tn : index
// CHECK: scf.for %column = %first to %end step %tn
// CHECK: %z = logitile.project %z_hidden, %z_weight at [%row, %column] by 16 using mma_sync
// CHECK: logitile.update_state
// CHECK: %result = logitile.map(%state)
// CHECK: logitile.store %result to %known_reference at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @first_columns forward state ["max" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    logitile.yield %lowest : f32
  } candidate {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } update {
  ^bb0(%max: f32):
    logitile.yield %max : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %max = arith.maxnumf %a, %b : f32
    logitile.yield %max : f32
  }
  logitile.finish @f forward of @first_columns results ["reference" : f32] {
  ^bb0(%max: f32):
    logitile.yield %max : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 96 stored 0 {
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xbf16>
    logitile.buffer @known_reference chunk result of @f[0] : !logitile.view<?xf32>
    logitile.run forward {
      logitile.launch "reference" from @reference<TM = 64, TN = 32, TK = 16, acc = f32> using mma_sync sweep @first_columns finish @f vocab_splits [0, 1]
    }
  }
}

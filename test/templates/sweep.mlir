// RUN: %specialise %s | FileCheck %s
// RUN: %specialise %s --canonicalize | FileCheck %s --check-prefix=ONE

// A sweep that makes its logits: one keeps them, one does not.
// CHECK-LABEL: logitile.kernel @keeps(%tokens: index from tokens,
// CHECK-SAME: %z_hidden: !logitile.view<?x24xf32> from @z_hidden, %z_weight: !logitile.view<300x24xf32> from @z_weight,
// CHECK-SAME: %bias: !logitile.view<300xf32> from @bias, %stored_z: !logitile.view<?x300xf32> from @stored_z, %state_s_sum: !logitile.view<3x?xf32> from @state_s_sum) {
// CHECK: %vocabSplitFirst = arith.constant 0 : index
// CHECK: %vocabSplitEnd = arith.constant 3 : index
// CHECK: %vocabSplitColumns = arith.constant 100 : index
// CHECK: scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokens, %vocabSplitEnd) step (%tm, %group) {
// CHECK: scf.for %further = %zero to %group step %one {
// CHECK-NEXT: %split = arith.addi %vocab_split, %further : index
// CHECK-NEXT: %first = arith.muli %split, %vocabSplitColumns : index
// CHECK-NEXT: %unclipped = arith.addi %first, %vocabSplitColumns : index
// CHECK-NEXT: %end = arith.minui %unclipped, %v : index
// CHECK-NEXT: %start = logitile.init_state : !logitile.tile<64x1xf32> {
// CHECK: %state = scf.for %column = %first to %end step %tn iter_args(%running = %start) -> (!logitile.tile<64x1xf32>) {
// CHECK-NEXT: %z = logitile.project %z_hidden, %z_weight at [%row, %column] by 16 using panels : !logitile.view<?x24xf32>, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
// CHECK-NEXT: logitile.store %z to %stored_z at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x300xf32>
// CHECK-NEXT: %in = logitile.load %bias at [%column] : !logitile.view<300xf32> -> !logitile.tile<1x32xf32>
// CHECK-NEXT: %next = logitile.update_state(%running) with(%z, %in) at %column below 300 :
// CHECK: scf.yield %next : !logitile.tile<64x1xf32>
// CHECK: logitile.store %state to %state_s_sum at [%split, %row] : !logitile.tile<64x1xf32> to !logitile.view<3x?xf32>

// CHECK-LABEL: logitile.kernel @forgets(
// CHECK-NOT: stored_z
// CHECK: %z = logitile.project
// CHECK-NEXT: %in = logitile.load %bias
// CHECK-LABEL: logitile.program @p

// The loop over a group of one vocabulary split goes away.
// ONE-LABEL: logitile.kernel @keeps(
// ONE: scf.forall (%row, %vocab_split) =
// ONE-NEXT: %first = arith.muli %vocab_split,
// ONE-NEXT: %unclipped = arith.addi %first,
// ONE: scf.for %column =
// ONE: logitile.store %state to %state_s_sum at [%vocab_split, %row]
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %biased = arith.addf %z, %bias : f32
    %next = arith.addf %sum, %biased : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xf32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @bias call input of "bias" : !logitile.view<300xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @state_s_sum chunk row_state of @s[0] : !logitile.view<3x?xf32>
    logitile.run forward {
      logitile.launch "keeps" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels sweep @s store
      logitile.launch "forgets" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels sweep @s
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// A tile without a raised reference has no columns. Where there is one, gradients are relative to
// the last reference, and entries of sparse terms are cleared.
// CHECK-LABEL: logitile.kernel @again(
// CHECK-NOT: @known_first
// CHECK-SAME: %known_last: !logitile.view<?xf32> from @known_last
// A task has two vocabulary splits of 96 entries.
// CHECK: %columns = arith.muli %vocabSplitColumns, %group : index
// CHECK: scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokens, %vocabSplitEnd) step (%tm, %group) {
// CHECK: %any = logitile.any_token %known_raised at %row tokens 64 below %tokens : !logitile.view<?xi32>
// CHECK: %end = arith.select %any, %last, %first : index
// CHECK: scf.for %column = %first to %end step %tn {
// CHECK: %z = logitile.project
// CHECK: %in = logitile.load %known_last at [%row]
// CHECK: %g = logitile.map(%z, %in) at %column
// CHECK: %rest = logitile.sparse_terms clear %g, [%target] at [%row, %column] below %tokens : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>]
// CHECK-NEXT: logitile.store %rest to %grad_z at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x300xbf16>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["first" : f32, "last" : f32, "raised" : i32, "factor" : f32] {
    %c = arith.constant 1.0 : f32
    %i = arith.constant 1 : i32
    logitile.yield %c, %c, %i, %c : f32, f32, i32, f32
  }
  logitile.gradient relative to <first = <@f[0]>, last = <@f[1]>, raised = <@f[2]>> {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %first = logitile.known <@f[0]> : f32
    %factor = logitile.known <@f[3]> : f32
    %x = arith.subf %z, %first : f32
    %e = math.exp %x : f32
    logitile.adjoint logits "z" dense %e times %factor sparse [%target -> %factor]
  }
  logitile.schedule tokens [0, 4096) vocab_split 96 stored 300 {
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xbf16>
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_first chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @known_last chunk result of @f[1] : !logitile.view<?xf32>
    logitile.buffer @known_raised chunk result of @f[2] : !logitile.view<?xi32>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x300xbf16>
    logitile.run forward {
      logitile.launch "again" from @repair<TM = 64, TN = 32, TK = 16, GROUP = 2, acc = f32> using mma_sync views {raised = @known_raised}
    }
  }
}

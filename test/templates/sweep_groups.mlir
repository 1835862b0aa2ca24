// RUN: %specialise %s | FileCheck %s

// A task goes through two of the three vocabulary splits, one after the other. They share a list,
// which is empty before the first column of the two; each of them has a row state of its own. So
// has the split that the second task has not: it is never updated.
// CHECK-LABEL: logitile.kernel @entries(%tokens: index from tokens,
// CHECK: %group = arith.constant 2 : index
// CHECK: scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokens, %vocabSplitEnd) step (%tm, %group) {
// CHECK-NEXT: %list = arith.divui %vocab_split, %group : index
// CHECK-NEXT: %list_first = arith.muli %vocab_split, %vocabSplitColumns : index
// CHECK-NEXT: scf.for %further = %zero to %group step %one {
// CHECK-NEXT: %split = arith.addi %vocab_split, %further : index
// CHECK-NEXT: %first = arith.muli %split, %vocabSplitColumns : index
// CHECK: %start = logitile.init_state : !logitile.tile<64x1xf32> {
// CHECK: scf.for %column = %first to %end step %tn iter_args(%running = %start)
// CHECK: logitile.update_lists %list_s_0 with(%z : !logitile.tile<64x32xf32>) at [%list, %row, %column] from %list_first tokens 64 places [50] :
// CHECK: logitile.store %state to %state_s_sum at [%split, %row]

// The finish joins two lists.
// CHECK-LABEL: logitile.kernel @best(%tokens: index from tokens,
// CHECK: logitile.finish_list %list_s_0 at %row tokens 64 splits 2 places 50 to %known_index :
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["sum" : f32] lists [50] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    %z = logitile.input logits "z" : f32
    %next = arith.addf %sum, %z : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
  logitile.finish @f forward of @s list 0 results ["index" : i32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %index : i32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @known_index call result of @f[0] : !logitile.view<?x50xi32>
    logitile.buffer @state_s_sum chunk row_state of @s[0] : !logitile.view<4x?xf32>
    logitile.buffer @list_s_0 chunk row_list of @s[0] : !logitile.view<?x100xi64>
    logitile.run forward {
      logitile.launch "entries" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 2, acc = f32> sweep @s
      logitile.launch "best" from @finish_list<TM = 64> sweep @s finish @f
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// The sweep takes entries into its lists, which lie in memory; it has no other state. Each list has
// a finish of its own.
// CHECK-LABEL: logitile.kernel @entries(%tokens: index from tokens,
// CHECK-SAME: %stored_z: !logitile.view<?x300xf32> from @stored_z, %list_s_0: !logitile.view<?x150xi64> from @list_s_0, %list_s_1: !logitile.view<?x6xi64> from @list_s_1) {
// CHECK-NOT: logitile.init_state
// CHECK: scf.for %column = %first to %end step %tn {
// CHECK: logitile.update_lists %list_s_0, %list_s_1 with(%z : !logitile.tile<64x32xf32>) at [%list, %row, %column] from %list_first tokens 64 places [50, 2] :
// CHECK-SAME: !logitile.view<?x150xi64>, !logitile.view<?x6xi64> {
// CHECK-NEXT: ^bb0(%[[Z:.*]]: f32):
// CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[Z]] : f32
// CHECK-NEXT: logitile.yield %[[Z]], %[[MINUS]] : f32, f32

// What the finish does at each place may read values per token, but nothing of the sweep.
// CHECK-LABEL: logitile.kernel @best(%tokens: index from tokens,
// CHECK-SAME: %list_s_1: !logitile.view<?x6xi64> from @list_s_1, %shift: !logitile.view<?xf32> from @shift, %known_value: !logitile.view<?x2xf32> from @known_value, %known_index: !logitile.view<?x2xi32> from @known_index) {
// CHECK: scf.forall (%row) = (0) to (%tokens) step (%tm) {
// CHECK-NEXT: %in = logitile.load %shift at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: logitile.finish_list %list_s_1 with(%in : !logitile.tile<64x1xf32>) at %row tokens 64 splits 3 places 2 to %known_value, %known_index :
// CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32, %[[INDEX:.*]]: i32, %[[SHIFT:.*]]: f32):
// CHECK-NEXT: %[[SHIFTED:.*]] = arith.addf %[[VALUE]], %[[SHIFT]] : f32
// CHECK-NEXT: logitile.yield %[[SHIFTED]], %[[INDEX]] : f32, i32
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state [] lists [50, 2] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  } rank {
    %z = logitile.input logits "z" : f32
    %minus = arith.negf %z : f32
    logitile.yield %z, %minus : f32, f32
  }
  logitile.finish @f forward of @s list 1 results ["value" : f32, "index" : i32] {
  ^bb0(%value: f32, %index: i32):
    %shift = logitile.input token "shift" : f32
    %shifted = arith.addf %value, %shift : f32
    logitile.yield %shifted, %index : f32, i32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @shift call input of "shift" : !logitile.view<?xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @known_value call result of @f[0] : !logitile.view<?x2xf32>
    logitile.buffer @known_index call result of @f[1] : !logitile.view<?x2xi32>
    logitile.buffer @list_s_0 chunk row_list of @s[0] : !logitile.view<?x150xi64>
    logitile.buffer @list_s_1 chunk row_list of @s[1] : !logitile.view<?x6xi64>
    logitile.run forward {
      logitile.launch "entries" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> sweep @s
      logitile.launch "best" from @finish_list<TM = 64> sweep @s finish @f
    }
  }
}

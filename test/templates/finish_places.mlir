// RUN: %specialise %s | FileCheck %s

// The sweep leaves what it picks in memory; it has no other state. Logits of each pick have a tile.
// CHECK-LABEL: logitile.kernel @entries(%tokens: index from tokens,
// CHECK-SAME: %candidates: !logitile.view<?x50xi32, column_major> from @candidates, %picked_s_0: !logitile.view<?x50xf32, column_major> from @picked_s_0
// CHECK-NOT: logitile.init_state
// CHECK: logitile.pick_entries %z to [%candidates, %picked_s_0] at [%row, %column] tokens 64 below 300
// CHECK-SAME: : !logitile.tile<64x32xf32> to [!logitile.view<?x50xi32, column_major>, !logitile.view<?x50xf32, column_major>]

// A finish of places reads what was picked, entries of a Vocab input at the same indices, and
// values per token.
// CHECK-LABEL: logitile.kernel @sum(%tokens: index from tokens,
// CHECK: %in = logitile.load %shift at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: logitile.finish_places %candidates, %bias, %picked_s_0 with(%in : !logitile.tile<64x1xf32>) at %row tokens 64 places 50 reads [2, 1] summed to %known_sum :
// CHECK-NEXT: ^bb0(%[[BIAS:.*]]: f32, %[[PICKED:.*]]: f32, %[[SHIFT:.*]]: f32):
// CHECK-NEXT: %[[BIASED:.*]] = arith.addf %[[PICKED]], %[[BIAS]] : f32
// CHECK-NEXT: %[[SHIFTED:.*]] = arith.addf %[[BIASED]], %[[SHIFT]] : f32
// CHECK-NEXT: logitile.yield %[[SHIFTED]] : f32

// Terms of the gradient that are lists are added to the tile in memory, although the gradient is
// rounded.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK: logitile.store %g to %grad_z at [%row, %column]
// CHECK-NEXT: logitile.scatter_terms [%candidates, %known_row] to %grad_z at [%row, %column] tokens 64 columns 32
// CHECK-NOT: logitile.sparse_terms
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "candidates" places 50>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
  logitile.finish @f forward places 50 summed results ["sum" : f32] {
    %shift = logitile.input token "shift" : f32
    %candidates = logitile.input token "candidates" places 50 : i32
    %bias = logitile.input vocab "bias" : f32
    %there = logitile.gather %bias[%candidates] : f32
    %picked = logitile.picked <@s[0]> : f32
    %biased = arith.addf %picked, %there : f32
    %shifted = arith.addf %biased, %shift : f32
    logitile.yield %shifted : f32
  }
  logitile.finish @b backward places 50 results ["row" : f32] {
    %up = logitile.input cotangent "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %p = math.exp %z : f32
    %candidates = logitile.input token "candidates" places 50 : i32
    %row = logitile.known <@b[0]> : f32
    logitile.adjoint logits "z" dense %p sparse [%candidates -> %row]
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xbf16>
    logitile.buffer @shift call input of "shift" : !logitile.view<?xf32>
    logitile.buffer @bias call input of "bias" : !logitile.view<300xf32>
    logitile.buffer @candidates call input of "candidates" : !logitile.view<?x50xi32, column_major>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @picked_s_0 chunk row_pick of @s[0] : !logitile.view<?x50xf32, column_major>
    logitile.buffer @known_sum call result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @known_row chunk result of @b[0] : !logitile.view<?x50xf32, column_major>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x300xbf16>
    logitile.run forward {
      logitile.launch "entries" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> sweep @s
      logitile.launch "sum" from @finish_places<TM = 64> finish @f
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}

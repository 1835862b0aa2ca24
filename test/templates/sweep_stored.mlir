// RUN: %specialise %s | FileCheck %s

// A sweep over stored logits reads them instead of making them: no contraction.
// CHECK-LABEL: logitile.kernel @sweep(%tokens: index from tokens,
// CHECK-SAME: %stored_z: !logitile.view<?x300xf32> from @stored_z, %known_mean: !logitile.view<?xf32> from @known_mean, %state_s_sum: !logitile.view<3x?xf32> from @state_s_sum) {
// CHECK-NOT: logitile.project
// CHECK: %z = logitile.load %stored_z at [%row, %column] : !logitile.view<?x300xf32> -> !logitile.tile<64x32xf32>
// CHECK-NEXT: %in = logitile.load %known_mean at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: %next = logitile.update_state(%running) with(%z, %in) at %column below 300 :
// CHECK: logitile.store %state to %state_s_sum at [%split, %row] : !logitile.tile<64x1xf32> to !logitile.view<3x?xf32>
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["mean" : f32] {
    %mean = logitile.input token "mean" : f32
    logitile.yield %mean : f32
  }
  logitile.sweep @s forward state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    %z = logitile.input logits "z" : f32
    %mean = logitile.known <@f[0]> : f32
    %x = arith.subf %z, %mean : f32
    %next = arith.addf %sum, %x : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @known_mean chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @state_s_sum chunk row_state of @s[0] : !logitile.view<3x?xf32>
    logitile.run forward {
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> sweep @s
    }
  }
}

// RUN: %specialise --canonicalize %s | FileCheck %s

// Of a softcap the argument of tanh is kept, within the bounds beyond which it is 1 or -1: there is
// no centre.
// CHECK-LABEL: logitile.kernel @sweep(
// CHECK-NOT: centre
// CHECK: logitile.update_state
// CHECK: %base = logitile.map(%z) at
// CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32):
// CHECK-NEXT: %[[TEN:.*]] = arith.constant -1.000000e+01 : f32
// CHECK-NEXT: %[[CAP:.*]] = arith.constant 3.000000e-02 : f32
// CHECK-NEXT: %[[INNER:.*]] = arith.mulf %[[VALUE]], %[[CAP]] : f32
// CHECK-NEXT: arith.cmpf olt, %[[INNER]], %[[TEN]] : f32
// CHECK-NOT: math.tanh
// CHECK: logitile.store %base to %stored_z
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK-NOT: centre
// CHECK: %g = logitile.map(%z) at
// CHECK-NEXT: ^bb0(%[[KEPT:.*]]: f32):
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[KEPT]] : f32
// CHECK-NEXT: logitile.yield %[[T]] : f32
logitile.program @p vocab 256 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32, "sum" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero : f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    %cap = arith.constant 0.03 : f32
    %inner = arith.mulf %z, %cap : f32
    %bounded = math.tanh %inner : f32
    logitile.yield %bounded : f32
  } update {
  ^bb0(%m: f32, %sum: f32):
    %z = logitile.input logits "z" : f32
    %next = arith.addf %sum, %z : f32
    logitile.yield %m, %next : f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %both = arith.maxnumf %ma, %mb : f32
    %sum = arith.addf %sa, %sb : f32
    logitile.yield %both, %sum : f32, f32
  }
  logitile.finish @f forward of @s results ["lse" : f32] {
  ^bb0(%m: f32, %sum: f32):
    logitile.yield %sum : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %cap = arith.constant 0.03 : f32
    %inner = arith.mulf %z, %cap : f32
    %bounded = math.tanh %inner : f32
    logitile.adjoint logits "z" dense %bounded
  }
  logitile.schedule tokens [0, 4096) vocab_split 256 stored 256 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x16xf32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<256x16xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x256xf16, column_major>
    logitile.buffer @state_m chunk row_state of @s[0] : !logitile.view<1x?xf32>
    logitile.buffer @state_sum chunk row_state of @s[1] : !logitile.view<1x?xf32>
    logitile.buffer @lse chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x256xbf16, column_major>
    logitile.run forward {
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels sweep @s store
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}

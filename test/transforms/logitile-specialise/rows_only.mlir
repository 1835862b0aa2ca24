// RUN: %specialise %s | FileCheck %s

// A gradient of sparse terms only: every other element is zero.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK: %g = logitile.map(%z) at %column : (!logitile.tile<64x32xf32>) -> !logitile.tile<64x32xf32> {
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: logitile.yield %[[ZERO]] : f32
// CHECK: %exact = logitile.sparse_terms add %g, [%target, %known_row] at [%row, %column] below %tokens
// CHECK-NEXT: logitile.store %exact to %grad_z at [%row, %column]
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices ["target"] checked [] {
  logitile.finish @f backward results ["row" : f32] {
    %up = logitile.input cotangent "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %row = logitile.known <@f[0]> : f32
    logitile.adjoint logits "z" sparse [%target -> %row]
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_row chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x300xf32>
    logitile.run forward {
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}

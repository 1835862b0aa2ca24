// RUN: %specialise %s | FileCheck %s

// A gradient of single entries only: every other element is zero.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK: %g = logitile.map(%z) at %column : (!logitile.tile<64x32xf32>) -> !logitile.tile<64x32xf32> {
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: logitile.yield %[[ZERO]] : f32
// CHECK: %exact = logitile.terms add %g, [%target, %known_row] at [%row, %column] below %tokens
// CHECK-NEXT: logitile.store %exact to %grad_z at [%row, %column]
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices ["target"] checked [] {
  logitile.finish @f adjoint results ["row" : f32] {
    %up = logitile.input upstream "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %row = logitile.input known "row" : f32
    logitile.adjoint logits "z" rows [%target -> %row]
  }
  logitile.schedule tokens [0, 4096) slab 100 kept 300 {
    logitile.buffer "tokens.map" call : !logitile.view<?xi32>
    logitile.buffer "z.weight" input : !logitile.view<300x24xf32>
    logitile.buffer "target" call : !logitile.view<?xi32>
    logitile.buffer "known.row" chunk : !logitile.view<?xf32>
    logitile.buffer "kept.z" chunk : !logitile.view<?x300xf32>
    logitile.buffer "grad.z" chunk alias "kept.z" : !logitile.view<?x300xf32>
    logitile.run forward {
      logitile.launch "gradient" from @gradient_kept<TM = 64, TN = 32, acc = f32>
    }
  }
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-COUNT-1: logitile.sweep @fused
// CHECK-NOT: logitile.sweep
logitile.loss @learned_temperature vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "temperature"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.input scalar "temperature" : f32
  %3 = arith.divf %0, %2 : f32
  %4 = logitile.reduce logsumexp %3 : f32 -> f32
  %5 = arith.subf %3, %4 : f32
  %6 = logitile.gather %5[%1] : f32
  %7 = arith.negf %6 : f32
  logitile.yield %7 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @vocab_scale vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "scale"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.input vocab "scale" : f32
  %3 = arith.mulf %0, %2 : f32
  %4 = logitile.reduce logsumexp %3 : f32 -> f32
  %5 = logitile.gather %3[%1] : f32
  %6 = arith.subf %4, %5 : f32
  logitile.yield %6 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-COUNT-1: logitile.sweep @fused
// CHECK-NOT: logitile.sweep
logitile.loss @power_sum vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "alpha"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "alpha" : f32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = logitile.multiply_no_nan %1, %3 : f32
  %5 = logitile.reduce logsumexp %4 : f32 -> f32
  logitile.yield %5 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @soft_targets vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "q"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input dense "q" : f32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = arith.mulf %1, %3 : f32
  %5 = logitile.reduce sum %4 : f32 -> f32
  %6 = arith.negf %5 : f32
  logitile.yield %6 : f32
}

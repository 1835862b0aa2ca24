// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @teacher_at_argmax vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input logits "t" : f32
  %2 = logitile.reduce argmax %0 : f32 -> i32
  %3 = logitile.gather %1[%2] : f32
  %4 = logitile.reduce logsumexp %1 : f32 -> f32
  %5 = arith.subf %3, %4 : f32
  logitile.yield %5 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @no_target vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.reduce logsumexp %0 : f32 -> f32
  %2 = arith.constant 2.0 : f32
  %3 = math.powf %1, %2 : f32
  %4 = logitile.reduce mean %0 : f32 -> f32
  %5 = arith.subf %3, %4 : f32
  logitile.yield %5 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s
// contract: 5 sweeps

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @entropy vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.reduce logsumexp %0 : f32 -> f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = logitile.multiply_no_nan %3, %2 : f32
  %5 = logitile.reduce sum %4 : f32 -> f32
  %6 = arith.negf %5 : f32
  logitile.yield %6 : f32
}

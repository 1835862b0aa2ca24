// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s
// contract: 5 sweeps

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @reverse_kl vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input logits "t" : f32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = math.exp %3 : f32
  %5 = logitile.reduce logsumexp %1 : f32 -> f32
  %6 = arith.subf %1, %5 : f32
  %7 = arith.subf %3, %6 : f32
  %8 = logitile.multiply_no_nan %4, %7 : f32
  %9 = logitile.reduce sum %8 : f32 -> f32
  logitile.yield %9 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @chi_squared vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input logits "t" : f32
  %2 = logitile.reduce logsumexp %1 : f32 -> f32
  %3 = arith.subf %1, %2 : f32
  %4 = math.exp %3 : f32
  %5 = logitile.reduce logsumexp %0 : f32 -> f32
  %6 = arith.subf %0, %5 : f32
  %7 = arith.negf %6 : f32
  %8 = math.exp %7 : f32
  %9 = logitile.multiply_no_nan %4, %8 : f32
  %10 = logitile.multiply_no_nan %4, %9 : f32
  %11 = logitile.reduce sum %10 : f32 -> f32
  %12 = arith.constant 1.0 : f32
  %13 = arith.subf %11, %12 : f32
  logitile.yield %13 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-COUNT-1: logitile.sweep @fused
// CHECK-NOT: logitile.sweep
logitile.loss @alpha_divergence vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t", "a"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input logits "t" : f32
  %2 = logitile.input scalar "a" : f32
  %3 = logitile.reduce logsumexp %1 : f32 -> f32
  %4 = arith.subf %1, %3 : f32
  %5 = logitile.multiply_no_nan %2, %4 : f32
  %6 = math.exp %5 : f32
  %7 = logitile.reduce logsumexp %0 : f32 -> f32
  %8 = arith.subf %0, %7 : f32
  %9 = arith.constant 1.0 : f32
  %10 = arith.subf %9, %2 : f32
  %11 = logitile.multiply_no_nan %10, %8 : f32
  %12 = math.exp %11 : f32
  %13 = logitile.multiply_no_nan %6, %12 : f32
  %14 = logitile.reduce sum %13 : f32 -> f32
  %15 = arith.subf %9, %14 : f32
  %16 = arith.mulf %2, %10 : f32
  %17 = arith.divf %15, %16 : f32
  logitile.yield %17 : f32
}

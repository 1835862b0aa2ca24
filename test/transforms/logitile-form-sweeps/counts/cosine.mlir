// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @cosine vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input logits "t" : f32
  %2 = arith.mulf %0, %1 : f32
  %3 = logitile.reduce sum %2 : f32 -> f32
  %4 = arith.mulf %0, %0 : f32
  %5 = logitile.reduce sum %4 : f32 -> f32
  %6 = math.rsqrt %5 : f32
  %7 = arith.mulf %3, %6 : f32
  %8 = arith.mulf %1, %1 : f32
  %9 = logitile.reduce sum %8 : f32 -> f32
  %10 = math.sqrt %9 : f32
  %11 = arith.divf %7, %10 : f32
  %12 = arith.constant 1.0 : f32
  %13 = arith.subf %12, %11 : f32
  logitile.yield %13 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s
// contract: 5 sweeps

// CHECK-COUNT-2: logitile.sweep @forward
// CHECK-COUNT-1: logitile.sweep @fused
// CHECK-NOT: logitile.sweep
logitile.loss @jsd vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t", "beta"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input logits "t" : f32
  %2 = logitile.input scalar "beta" : f32
  %3 = logitile.reduce logsumexp %0 : f32 -> f32
  %4 = arith.subf %0, %3 : f32
  %5 = math.exp %4 : f32
  %6 = logitile.reduce logsumexp %1 : f32 -> f32
  %7 = arith.subf %1, %6 : f32
  %8 = math.exp %7 : f32
  %9 = logitile.multiply_no_nan %8, %2 : f32
  %10 = arith.constant 1.0 : f32
  %11 = arith.subf %10, %2 : f32
  %12 = logitile.multiply_no_nan %5, %11 : f32
  %13 = arith.addf %9, %12 : f32
  %14 = math.log %13 : f32
  %15 = arith.subf %7, %14 : f32
  %16 = logitile.multiply_no_nan %8, %15 : f32
  %17 = logitile.reduce sum %16 : f32 -> f32
  %18 = arith.mulf %2, %17 : f32
  %19 = arith.subf %4, %14 : f32
  %20 = logitile.multiply_no_nan %5, %19 : f32
  %21 = logitile.reduce sum %20 : f32 -> f32
  %22 = arith.mulf %11, %21 : f32
  %23 = arith.addf %18, %22 : f32
  logitile.yield %23 : f32
}

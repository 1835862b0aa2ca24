// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s
// contract: 5 sweeps

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @smoothing_and_z_loss vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = logitile.gather %0[%1] : f32
  %4 = arith.subf %2, %3 : f32
  %5 = arith.constant 0.875 : f32
  %6 = arith.mulf %5, %4 : f32
  %7 = logitile.reduce mean %0 : f32 -> f32
  %8 = arith.subf %2, %7 : f32
  %9 = arith.constant 0.125 : f32
  %10 = arith.mulf %9, %8 : f32
  %11 = arith.addf %6, %10 : f32
  %12 = arith.constant 2.0 : f32
  %13 = math.powf %2, %12 : f32
  %14 = arith.constant 1024.0 : f32
  %15 = arith.divf %13, %14 : f32
  %16 = arith.addf %11, %15 : f32
  logitile.yield %16 : f32
}

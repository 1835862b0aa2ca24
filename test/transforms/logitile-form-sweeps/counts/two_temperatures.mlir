// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @two_temperatures vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = logitile.gather %3[%1] : f32
  %5 = arith.negf %4 : f32
  %6 = arith.constant 4.0 : f32
  %7 = arith.divf %0, %6 : f32
  %8 = logitile.reduce logsumexp %7 : f32 -> f32
  %9 = arith.subf %7, %8 : f32
  %10 = logitile.gather %9[%1] : f32
  %11 = arith.constant 0.5 : f32
  %12 = arith.mulf %11, %10 : f32
  %13 = arith.subf %5, %12 : f32
  logitile.yield %13 : f32
}

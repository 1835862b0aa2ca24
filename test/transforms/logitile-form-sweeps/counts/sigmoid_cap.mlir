// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @sigmoid_cap vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = arith.constant 5.0 : f32
  %3 = arith.addf %0, %2 : f32
  %4 = arith.constant 7.5 : f32
  %5 = arith.divf %3, %4 : f32
  %6 = logitile.sigmoid %5 : f32
  %7 = arith.constant 30.0 : f32
  %8 = arith.mulf %7, %6 : f32
  %9 = logitile.reduce logsumexp %8 : f32 -> f32
  %10 = logitile.gather %8[%1] : f32
  %11 = arith.subf %9, %10 : f32
  logitile.yield %11 : f32
}

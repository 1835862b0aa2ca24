// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @focal vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = logitile.gather %3[%1] : f32
  %5 = math.exp %4 : f32
  %6 = arith.constant 1.0 : f32
  %7 = arith.subf %6, %5 : f32
  %8 = arith.constant 2.0 : f32
  %9 = math.powf %7, %8 : f32
  %10 = arith.negf %9 : f32
  %11 = arith.mulf %10, %4 : f32
  logitile.yield %11 : f32
}

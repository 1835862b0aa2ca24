// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @capped_probability vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = arith.constant 20.0 : f32
  %3 = arith.divf %0, %2 : f32
  %4 = math.tanh %3 : f32
  %5 = arith.mulf %2, %4 : f32
  %6 = logitile.reduce logsumexp %5 : f32 -> f32
  %7 = arith.subf %5, %6 : f32
  %8 = logitile.gather %7[%1] : f32
  %9 = math.exp %8 : f32
  logitile.yield %9 : f32
}

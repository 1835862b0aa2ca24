// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s
// contract: 5 sweeps

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @softcap vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = arith.constant 20.0 : f32
  %3 = arith.divf %0, %2 : f32
  %4 = math.tanh %3 : f32
  %5 = arith.mulf %2, %4 : f32
  %6 = logitile.reduce logsumexp %5 : f32 -> f32
  %7 = logitile.gather %5[%1] : f32
  %8 = arith.subf %6, %7 : f32
  logitile.yield %8 : f32
}

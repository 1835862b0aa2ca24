// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-2: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @variance vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce mean %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = arith.mulf %3, %3 : f32
  %5 = logitile.reduce mean %4 : f32 -> f32
  %6 = logitile.reduce logsumexp %0 : f32 -> f32
  %7 = arith.addf %5, %6 : f32
  %8 = logitile.gather %0[%1] : f32
  %9 = arith.subf %7, %8 : f32
  logitile.yield %9 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @max_penalty vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = logitile.gather %0[%1] : f32
  %4 = arith.subf %2, %3 : f32
  %5 = logitile.reduce max %0 : f32 -> f32
  %6 = arith.constant 2.0 : f32
  %7 = math.powf %5, %6 : f32
  %8 = arith.constant 1024.0 : f32
  %9 = arith.divf %7, %8 : f32
  %10 = arith.addf %4, %9 : f32
  logitile.yield %10 : f32
}

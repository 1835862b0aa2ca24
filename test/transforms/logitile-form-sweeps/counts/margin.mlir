// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @margin vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.column : i32
  %3 = arith.cmpi eq, %2, %1 : i32
  %4 = arith.constant 0.375 : f32
  %5 = arith.subf %0, %4 : f32
  %6 = arith.select %3, %5, %0 : f32
  %7 = logitile.reduce logsumexp %6 : f32 -> f32
  %8 = logitile.gather %6[%1] : f32
  %9 = arith.subf %7, %8 : f32
  logitile.yield %9 : f32
}

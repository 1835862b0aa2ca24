// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @kept_set vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.input vocab "mask" : i1
  %3 = logitile.column : i32
  %4 = arith.cmpi eq, %3, %1 : i32
  %5 = arith.ori %2, %4 : i1
  %6 = arith.constant 0xFF800000 : f32
  %7 = arith.select %5, %0, %6 : f32
  %8 = logitile.reduce logsumexp %7 : f32 -> f32
  %9 = logitile.gather %0[%1] : f32
  %10 = arith.subf %8, %9 : f32
  logitile.yield %10 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @next_column vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = arith.constant 999 : i32
  %4 = arith.cmpi eq, %1, %3 : i32
  %5 = arith.constant 1 : i32
  %6 = arith.addi %1, %5 : i32
  %7 = arith.constant 0 : i32
  %8 = arith.select %4, %7, %6 : i32
  %9 = logitile.gather %0[%8] : f32
  %10 = arith.subf %2, %9 : f32
  logitile.yield %10 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @second_best vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.column : i32
  %3 = arith.cmpi ne, %2, %1 : i32
  %4 = arith.constant 0xFF800000 : f32
  %5 = arith.select %3, %0, %4 : f32
  %6 = logitile.reduce max %5 : f32 -> f32
  %7 = logitile.gather %0[%1] : f32
  %8 = arith.subf %6, %7 : f32
  logitile.yield %8 : f32
}

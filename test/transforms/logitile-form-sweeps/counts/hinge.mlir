// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s
// contract: 5 sweeps

// CHECK-COUNT-2: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @hinge vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.column : i32
  %3 = arith.cmpi ne, %2, %1 : i32
  %4 = logitile.gather %0[%1] : f32
  %5 = arith.subf %0, %4 : f32
  %6 = arith.constant 1.0 : f32
  %7 = arith.addf %5, %6 : f32
  %8 = arith.constant 0.0 : f32
  %9 = arith.maximumf %7, %8 : f32
  %10 = arith.select %3, %9, %8 : f32
  %11 = logitile.reduce sum %10 : f32 -> f32
  logitile.yield %11 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-2: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @pairwise vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "advantage"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.input token "advantage" : f32
  %3 = logitile.gather %0[%1] : f32
  %4 = arith.subf %0, %3 : f32
  %5 = logitile.softplus %4 : f32
  %6 = logitile.reduce mean %5 : f32 -> f32
  %7 = math.tanh %2 : f32
  %8 = arith.mulf %6, %7 : f32
  %9 = arith.negf %2 : f32
  %10 = logitile.softplus %9 : f32
  %11 = arith.negf %10 : f32
  %12 = arith.addf %8, %11 : f32
  logitile.yield %12 : f32
}

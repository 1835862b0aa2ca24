// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @ppo vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "old", "advantage"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.input token "old" : f32
  %3 = logitile.input token "advantage" : f32
  %4 = logitile.reduce logsumexp %0 : f32 -> f32
  %5 = arith.subf %0, %4 : f32
  %6 = logitile.gather %5[%1] : f32
  %7 = arith.subf %6, %2 : f32
  %8 = math.exp %7 : f32
  %9 = logitile.multiply_no_nan %8, %3 : f32
  %10 = arith.constant 0.75 : f32
  %11 = arith.constant 1.25 : f32
  %12 = math.clampf %8 to [%10, %11] : f32
  %13 = arith.mulf %12, %3 : f32
  %14 = arith.minimumf %9, %13 : f32
  %15 = arith.negf %14 : f32
  logitile.yield %15 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @grpo vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "old", "ref", "advantage"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.input token "old" : f32
  %3 = logitile.input token "ref" : f32
  %4 = logitile.input token "advantage" : f32
  %5 = logitile.reduce logsumexp %0 : f32 -> f32
  %6 = arith.subf %0, %5 : f32
  %7 = logitile.gather %6[%1] : f32
  %8 = arith.subf %7, %2 : f32
  %9 = math.exp %8 : f32
  %10 = arith.subf %3, %7 : f32
  %11 = math.exp %10 : f32
  %12 = arith.subf %11, %10 : f32
  %13 = arith.constant 1.0 : f32
  %14 = arith.subf %12, %13 : f32
  %15 = arith.constant 16.0 : f32
  %16 = arith.divf %14, %15 : f32
  %17 = logitile.multiply_no_nan %9, %4 : f32
  %18 = arith.constant 0.75 : f32
  %19 = arith.constant 1.25 : f32
  %20 = math.clampf %9 to [%18, %19] : f32
  %21 = arith.mulf %20, %4 : f32
  %22 = arith.minimumf %17, %21 : f32
  %23 = arith.subf %16, %22 : f32
  logitile.yield %23 : f32
}

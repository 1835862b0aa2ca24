// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s
// contract: 5 sweeps

// CHECK-COUNT-3: logitile.sweep @forward
// CHECK-COUNT-2: logitile.sweep @backward
// CHECK-NOT: logitile.sweep
logitile.loss @standardised_kl vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input logits "t" : f32
  %2 = logitile.reduce mean %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = arith.constant 2.0 : f32
  %5 = math.powf %3, %4 : f32
  %6 = logitile.reduce mean %5 : f32 -> f32
  %7 = math.sqrt %6 : f32
  %8 = arith.divf %3, %7 : f32
  %9 = logitile.reduce logsumexp %8 : f32 -> f32
  %10 = arith.subf %8, %9 : f32
  %11 = logitile.reduce mean %1 : f32 -> f32
  %12 = arith.subf %1, %11 : f32
  %13 = math.powf %12, %4 : f32
  %14 = logitile.reduce mean %13 : f32 -> f32
  %15 = math.sqrt %14 : f32
  %16 = arith.divf %12, %15 : f32
  %17 = logitile.reduce logsumexp %16 : f32 -> f32
  %18 = arith.subf %16, %17 : f32
  %19 = math.exp %18 : f32
  %20 = arith.subf %18, %10 : f32
  %21 = logitile.multiply_no_nan %19, %20 : f32
  %22 = logitile.reduce sum %21 : f32 -> f32
  logitile.yield %22 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @entropy_per_token_set vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input dense "keep" : i1
  %2 = arith.constant 0xFF800000 : f32
  %3 = arith.select %1, %0, %2 : f32
  %4 = logitile.reduce logsumexp %3 : f32 -> f32
  %5 = arith.subf %3, %4 : f32
  %6 = math.exp %5 : f32
  %7 = logitile.multiply_no_nan %6, %5 : f32
  %8 = logitile.reduce sum %7 : f32 -> f32
  %9 = arith.negf %8 : f32
  logitile.yield %9 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @dft vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.gather %0[%1] : f32
  %3 = logitile.reduce logsumexp %0 : f32 -> f32
  %4 = arith.subf %2, %3 : f32
  %5 = math.exp %4 : f32
  %6 = logitile.stop_gradient %5 : f32
  %7 = arith.negf %6 : f32
  %8 = logitile.multiply_no_nan %7, %4 : f32
  logitile.yield %8 : f32
}

// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-2: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @brier vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = arith.subf %0, %2 : f32
  %4 = math.exp %3 : f32
  %5 = logitile.column : i32
  %6 = arith.cmpi eq, %5, %1 : i32
  %7 = arith.uitofp %6 : i1 to f32
  %8 = arith.subf %4, %7 : f32
  %9 = arith.mulf %8, %8 : f32
  %10 = logitile.reduce sum %9 : f32 -> f32
  logitile.yield %10 : f32
}

// What is as large as logits is summed by itself: beside it, small numbers would have its rounding.
// contract: 5 factoring
// RUN: %form_sweeps %s | FileCheck %s

// The gradient has the sum of p * (w + log_p) once more. The square keeps its distance from its
// maximum, w its own digits: these are the sums that the loss has.
// CHECK-LABEL: logitile.program @large_beside_small
// CHECK: logitile.sweep @forward0 forward state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp2.high" : f32, "exp2.low" : f32, "exp3.high" : f32, "exp3.low" : f32]
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: logitile.multiply_no_nan %[[E]], %w : f32
// CHECK: logitile.multiply_no_nan %[[E]], %[[X]] : f32
// CHECK: } merge {
// CHECK-NOT: logitile.sweep
logitile.loss @large_beside_small vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %w = logitile.input vocab "w" : f32 loc("w")
  %square = arith.mulf %z, %z : f32
  %lse = logitile.reduce logsumexp %square : f32 -> f32
  %log_p = arith.subf %square, %lse : f32
  %p = math.exp %log_p : f32
  %sum = arith.addf %w, %log_p : f32
  %term = logitile.multiply_no_nan %p, %sum : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// Multiples of a logsumexp are as large as it is. Under an exponential of them they are distances
// from their maximum.
// CHECK-LABEL: logitile.program @multiple_of_a_logsumexp
// CHECK: logitile.sweep @forward1
// CHECK: } update {
// CHECK: %[[DISTANCE:.*]] = arith.subf %{{.*}}, %max{{[0-9]+}} : f32
// CHECK: %[[E:.*]] = math.exp %[[DISTANCE]] : f32
// CHECK: logitile.multiply_no_nan %[[E]], %[[DISTANCE]] : f32
logitile.loss @multiple_of_a_logsumexp vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %w = logitile.input vocab "w" : f32
  %size = logitile.reduce logsumexp %z : f32 -> f32
  %x = arith.mulf %w, %size : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %log_p : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

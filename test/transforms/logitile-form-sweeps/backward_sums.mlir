// Where the sums of the gradient are made: in a forward sweep, with the gradient, or in a sweep
// between the two.
// contract: 5 backward sweeps
// RUN: %form_sweeps %s | FileCheck %s

// A sum that a gradient along the vocabulary needs joins the forward sweep in which it could have
// been made: no sweep.
// CHECK-LABEL: logitile.program @saved
// CHECK: logitile.sweep @forward1 forward state ["sum2.high" : f32, "sum2.low" : f32, "sum3.high" : f32, "sum3.low" : f32]
// CHECK: logitile.finish @finish2 forward of @forward1 results ["loss" : f32, "{{v[0-9]+}}" : f32]
// CHECK-NEXT: ^bb0(%sum2.high: f32, %sum2.low: f32, %sum3.high: f32, %sum3.low: f32):
// CHECK: %[[LOSS:.*]] = arith.addf %sum2.high, %{{.*}} : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %sum3.high, %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[LOSS]], %[[SUM]] : f32, f32
// CHECK-NOT: logitile.sweep
// CHECK: logitile.gradient {
// CHECK: logitile.known <@finish2[1]> : f32
logitile.loss @saved vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %abs = math.absf %log_p : f32
  %loss = logitile.reduce sum %abs : f32 -> f32
  logitile.yield %loss : f32
}

// An equal sum of the forward pass serves the gradient as it is.
// CHECK-LABEL: logitile.program @shared
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp2.high" : f32, "exp2.low" : f32]
// CHECK-NOT: logitile.sweep
// CHECK: logitile.gradient {
// CHECK: logitile.known <@finish1[0]> : f32
logitile.loss @shared vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %square = logitile.multiply_no_nan %p, %p : f32
  %loss = logitile.reduce sum %square : f32 -> f32
  logitile.yield %loss : f32
}

// Without gradients it is not made at all.
// CHECK-LABEL: logitile.program @forward_only
// CHECK: logitile.sweep @forward1 forward state ["sum2.high" : f32, "sum2.low" : f32]
// CHECK-NOT: logitile.gradient
logitile.loss @forward_only vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %abs = math.absf %log_p : f32
  %loss = logitile.reduce sum %abs : f32 -> f32
  logitile.yield %loss : f32
}

// A sum that only the gradient of a value per token needs is fused: made in the pass that makes the
// gradient.
// CHECK-LABEL: logitile.program @fused
// CHECK: logitile.sweep @forward0 forward state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32]
// CHECK: logitile.sweep @fused fused state ["[[SUM:sum[0-9]+]].high" : f32, "[[SUM]].low" : f32]
// CHECK: } update {
// CHECK: %[[TERM:.*]] = logitile.multiply_no_nan
// CHECK-NEXT: arith.addf %[[SUM]].high, %[[TERM]] : f32
// CHECK: logitile.gradient {
// CHECK: logitile.adjoint logits "z" dense
// CHECK: logitile.finish @[[LATE:.*]] fused of @fused results ["gradient.b" : f32]
// CHECK: logitile.gradient {
// CHECK-NEXT: %[[B:.*]] = logitile.known <@[[LATE]][0]> : f32
// CHECK-NEXT: logitile.adjoint token "b" dense %[[B]]
logitile.loss @fused vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z", "b"] {
  %z = logitile.input logits "z" : f32
  %b = logitile.input token "b" : f32
  %q = logitile.input vocab "q" : f32
  %bq = arith.mulf %b, %q : f32
  %x = arith.addf %z, %bq : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// A fused sweep runs over the vocabulary, so there is a gradient for it to run with, empty if no
// input per element wants one.
// CHECK-LABEL: logitile.program @late_alone
// CHECK: logitile.sweep @fused fused
// CHECK: logitile.gradient {
// CHECK-NEXT: }
// CHECK: logitile.finish @{{.*}} fused of @fused results ["gradient.b" : f32]
logitile.loss @late_alone vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["b"] {
  %z = logitile.input logits "z" : f32
  %b = logitile.input token "b" : f32
  %q = logitile.input vocab "q" : f32
  %bq = arith.mulf %b, %q : f32
  %x = arith.addf %z, %bq : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// Not fused where the sum is there already: that of q p is an output's as well.
// CHECK-LABEL: logitile.program @not_late
// CHECK-NOT: logitile.sweep @fused
// CHECK: logitile.finish @{{.*}} backward results ["gradient.b" : f32]
logitile.loss @not_late vocab 100 outputs ["loss", "mean"] gradient of ["loss"] wrt ["z", "b"] {
  %z = logitile.input logits "z" : f32
  %b = logitile.input token "b" : f32
  %q = logitile.input vocab "q" : f32
  %bq = arith.mulf %b, %q : f32
  %x = arith.addf %z, %bq : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %loss : f32
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %q : f32
  %mean = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss, %mean : f32, f32
}

// The adjoint of a mean is summed as it stands, of the very values that it is subtracted from: a
// sweep of its own.
// CHECK-LABEL: logitile.program @verbatim
// CHECK: logitile.sweep @forward0 forward
// CHECK: logitile.sweep @backward0 backward state ["[[SUM:sum[0-9]+]].high" : f32, "[[SUM]].low" : f32]
// CHECK: } update {
// CHECK: %[[E:.*]] = math.exp
// CHECK-NEXT: arith.addf %[[SUM]].high, %[[E]] : f32
// CHECK-NOT: logitile.sweep
// CHECK: logitile.gradient {
logitile.loss @verbatim vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %mean = logitile.reduce mean %z : f32 -> f32
  %x = arith.subf %z, %mean : f32
  %e = math.exp %x : f32
  %loss = logitile.reduce sum %e : f32 -> f32
  logitile.yield %loss : f32
}

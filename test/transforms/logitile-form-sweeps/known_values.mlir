// What is computed per token, and when it is known.
// RUN: %form_sweeps %s | FileCheck %s

// A value that needs no logits and takes more than a few operations is computed once, before the
// sweeps. Smaller values are recomputed.
// CHECK-LABEL: logitile.program @prologue
// CHECK: logitile.finish @finish0 prologue results ["{{v[0-9]+}}" : f32]
// CHECK: math.absf
// CHECK: logitile.sweep @forward0
// CHECK: } candidate {
// CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK-NEXT: %[[S:.*]] = logitile.known <@finish0[0]> : f32
// CHECK-NEXT: %[[ZS:.*]] = arith.mulf %[[Z]], %[[S]] : f32
// CHECK-NEXT: %[[A:.*]] = logitile.input token "a" : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[A]] : f32
logitile.loss @prologue vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %a = logitile.input token "a" : f32
  %b = logitile.input token "b" : f32
  %cheap = math.exp %a : f32
  %0 = math.exp %b : f32
  %1 = math.log1p %0 : f32
  %2 = math.tanh %1 : f32
  %3 = math.floor %2 : f32
  %dear = math.absf %3 : f32
  %zs = arith.mulf %z, %dear : f32
  %qe = arith.mulf %q, %cheap : f32
  %x = arith.addf %zs, %qe : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// A cotangent comes with the backward phase: coefficients of sparse terms and of all entries are
// made there.
// CHECK-LABEL: logitile.program @coefficients
// CHECK: logitile.finish @finish1 forward of @forward0
// CHECK: logitile.finish @finish2 backward results ["{{v[0-9]+}}" : f32, "row.z.0" : f32]
// CHECK: logitile.gather
// CHECK: logitile.input cotangent "loss" : f32
// CHECK: logitile.gradient {
// CHECK: %[[FACTOR:.*]] = logitile.known <@finish2[0]> : f32
// CHECK-NEXT: %[[DENSE:.*]] = logitile.multiply_no_nan %{{.*}}, %[[FACTOR]] : f32
// CHECK-NEXT: %[[TARGET:.*]] = logitile.input token "target" : i32
// CHECK-NEXT: %[[ROW:.*]] = logitile.known <@finish2[1]> : f32
// CHECK-NEXT: logitile.adjoint logits "z" dense %[[DENSE]] sparse [%[[TARGET]] -> %[[ROW]]]
logitile.loss @coefficients vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %weight = logitile.input vocab "weight" : f32
  %target = logitile.input token "target" : i32
  %w = logitile.gather %weight[%target] : f32
  %picked = logitile.gather %z[%target] : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %nll = arith.subf %lse, %picked : f32
  %loss = arith.mulf %w, %nll : f32
  logitile.yield %loss : f32
}

// Two projections of a loss share sweeps; each has its own gradient, and one that needs none is
// left out.
// CHECK-LABEL: logitile.program @two_projections
// CHECK: logitile.sweep @forward0 forward state ["max0" : f32, "max2" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp3.high" : f32, "exp3.low" : f32]
// CHECK-NOT: logitile.sweep
// CHECK: logitile.gradient {
// CHECK: logitile.adjoint logits "t" dense
// CHECK-NOT: logitile.adjoint
logitile.loss @two_projections vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["t"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %a = logitile.reduce logsumexp %z : f32 -> f32
  %b = logitile.reduce logsumexp %t : f32 -> f32
  %loss = arith.subf %b, %a : f32
  logitile.yield %loss : f32
}

// A stop of the gradient is gone once the gradient is made.
// CHECK-LABEL: logitile.program @stopped
// CHECK-NOT: logitile.stop_gradient
logitile.loss @stopped vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %fixed = logitile.stop_gradient %lse : f32
  %loss = arith.mulf %lse, %fixed : f32
  logitile.yield %loss : f32
}

// A loss without logits has no sweep.
// CHECK-LABEL: logitile.program @per_token
// CHECK-NEXT: logitile.finish @finish0 prologue results ["loss" : f32]
// CHECK-NOT: logitile.sweep
logitile.loss @per_token vocab 100 outputs ["loss"] {
  %a = logitile.input token "a" : f32
  %loss = math.exp %a : f32
  logitile.yield %loss : f32
}

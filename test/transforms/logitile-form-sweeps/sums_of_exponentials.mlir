// Exponentials are not negative, so what their sum loses takes three operations for each entry.
// Sums of both signs, and those that a mean is divided by, take six: there the larger number may be
// the term.
// RUN: %form_sweeps %s | FileCheck %s

// CHECK-LABEL: logitile.program @alone
// CHECK: } update {
// CHECK: %[[E:.*]] = math.exp
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %exp1.high, %[[E]] : f32
// CHECK-NEXT: %[[ADDED:.*]] = arith.subf %[[SUM]], %exp1.high : f32
// CHECK-NEXT: %[[LOST:.*]] = arith.subf %[[E]], %[[ADDED]] : f32
// CHECK-NEXT: %[[LOW:.*]] = arith.addf %exp1.low, %[[LOST]] : f32
// CHECK-NEXT: logitile.yield %max0, %[[SUM]], %[[LOW]]
logitile.loss @alone vocab 100 outputs ["loss"] gradient of ["loss"] wrt [] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  logitile.yield %lse : f32
}

// CHECK-LABEL: logitile.program @of_some_columns
// CHECK: } update {
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[TERM:.*]] = arith.select %{{.*}}, %[[E]], %{{.*}} : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[HIGH:exp.\.high]], %[[TERM]] : f32
// CHECK-NEXT: %[[ADDED:.*]] = arith.subf %[[SUM]], %[[HIGH]] : f32
// CHECK-NEXT: %[[LOST:.*]] = arith.subf %[[TERM]], %[[ADDED]] : f32
// CHECK-NEXT: arith.addf %{{exp.\.low}}, %[[LOST]] : f32
logitile.loss @of_some_columns vocab 100 outputs ["loss"] gradient of ["loss"] wrt [] {
  %z = logitile.input logits "z" : f32
  %w = logitile.input vocab "w" : f32
  %zero = arith.constant 0.0 : f32
  %is = arith.cmpf ogt, %w, %zero : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %some = arith.select %is, %p, %zero : f32
  %loss = logitile.reduce sum %some : f32 -> f32
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.program @of_both_signs
// CHECK: } update {
// CHECK: %[[SUM:.*]] = arith.addf %sum0.high, %z : f32
// CHECK-NEXT: %[[ADDED:.*]] = arith.subf %[[SUM]], %sum0.high : f32
// CHECK-NEXT: arith.subf %[[SUM]], %[[ADDED]] : f32
logitile.loss @of_both_signs vocab 100 outputs ["loss"] gradient of ["loss"] wrt [] {
  %z = logitile.input logits "z" : f32 loc("z")
  %loss = logitile.reduce sum %z : f32 -> f32
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.program @of_a_mean
// CHECK: } update {
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[SUM:.*]] = arith.addf %[[HIGH:exp.\.high]], %[[E]] : f32
// CHECK-NEXT: %[[ADDED:.*]] = arith.subf %[[SUM]], %[[HIGH]] : f32
// CHECK-NEXT: arith.subf %[[SUM]], %[[ADDED]] : f32
logitile.loss @of_a_mean vocab 100 outputs ["loss"] gradient of ["loss"] wrt [] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %term = arith.mulf %p, %z : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

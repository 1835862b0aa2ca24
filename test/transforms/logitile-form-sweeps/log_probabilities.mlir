// Sums of log-probabilities, and what exponents are made of.
// contract: 5 one value
// RUN: %form_sweeps %s | FileCheck %s

// The sum is of the rounded entries that the maximum is of: no rounding error of their product is
// kept beside it.
// CHECK-LABEL: logitile.program @sum_of_products
// CHECK: candidate {
// CHECK: %[[BASE:.*]] = arith.mulf
// CHECK-NEXT: logitile.yield %[[BASE]] : f32
// CHECK: } update {
// CHECK: %[[ENTRY:.*]] = arith.mulf
// CHECK: arith.addf %[[SUM:sum[0-9]+]].high, %[[ENTRY]] : f32
// CHECK-NOT: math.fma
// CHECK: } merge {
logitile.loss @sum_of_products vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input scalar "s" : f32
  %x = arith.mulf %z, %s : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %loss = logitile.reduce sum %log_p : f32 -> f32
  logitile.yield %loss : f32
}

// An addend that may be infinite leaves entries and maximum alike; its difference from itself
// stays, which is NaN then.
// CHECK-LABEL: logitile.program @addend
// CHECK: candidate {
// CHECK-NEXT: %[[BASE:.*]] = logitile.input logits "z" : f32
// CHECK-NEXT: logitile.yield %[[BASE]] : f32
// CHECK: logitile.finish
// CHECK: %[[A:.*]] = logitile.input token "a" : f32
// CHECK: arith.subf %[[A]], %[[A]] : f32
logitile.loss @addend vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" : f32
  %x = arith.addf %z, %a : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %loss = logitile.reduce sum %log_p : f32 -> f32
  logitile.yield %loss : f32
}

// A scaled sum is rounded as it was written, not as a sum of scaled parts.
// CHECK-LABEL: logitile.program @scaled_sum
// CHECK: candidate {
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[SUM]] : f32
// CHECK-NEXT: logitile.yield %[[SCALED]] : f32
logitile.loss @scaled_sum vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %v = logitile.input vocab "v" : f32
  %s = logitile.input scalar "s" : f32
  %sum = arith.addf %z, %v : f32
  %x = arith.mulf %sum, %s : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// Parts that meet again are put together: the maximum is that of z. Of a part that is infinite NaN
// is left.
// CHECK-LABEL: logitile.program @meets_again
// CHECK: candidate {
// CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK-NEXT: %[[V:.*]] = logitile.input vocab "v" : f32
// CHECK-NEXT: %[[NOTHING:.*]] = arith.subf %[[V]], %[[V]] : f32
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[Z]], %[[NOTHING]] : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32
logitile.loss @meets_again vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %v = logitile.input vocab "v" : f32
  %less = arith.subf %z, %v : f32
  %x = arith.addf %less, %v : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// Of a row of -inf the logarithm of the sum is infinite: the low part of the scaled log-probability
// is not dropped.
// CHECK-LABEL: logitile.program @root
// CHECK: logitile.sweep @forward1
// CHECK: } update {
// CHECK: %[[LOG:.*]] = arith.negf %{{.*}} : f32
// CHECK: %[[LOW:.*]] = arith.mulf %[[LOG]], %{{.*}} : f32
// CHECK: %[[FINITE:.*]] = math.isfinite %[[LOG]] : f32
// CHECK: %[[SPECIAL:.*]] = arith.select %[[FINITE]], %{{.*}}, %[[LOW]] : f32
// CHECK: %[[STAYS:.*]] = math.isfinite %[[LOW]] : f32
// CHECK: arith.select %[[STAYS]], %[[LOW]], %[[SPECIAL]] : f32
logitile.loss @root vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %log = arith.mulf %log_p, %half : f32
  %root = math.exp %log : f32
  %holds = arith.cmpf oge, %root, %zero : f32
  %count = logitile.reduce count %holds : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// A logsumexp less its values is the distance from the maximum as well, turned round: 1 / 3 is no
// float32, and its rounding times z would stay if the logsumexp were rounded otherwise.
// CHECK-LABEL: logitile.program @less_its_values
// CHECK: logitile.sweep @forward1
// CHECK: update
// CHECK: %[[DISTANCE:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[DISTANCE]], %{{.*}} : f32
// CHECK: arith.negf %[[SCALED]] : f32
logitile.loss @less_its_values vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %v = logitile.input vocab "v" : f32
  %third = arith.constant 0.333333343 : f32
  %x = arith.mulf %z, %third : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %less = arith.subf %lse, %x : f32
  %squared = arith.mulf %less, %v : f32
  %loss = logitile.reduce max %squared : f32 -> f32
  logitile.yield %loss : f32
}

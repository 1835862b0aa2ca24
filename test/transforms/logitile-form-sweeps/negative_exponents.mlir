// Where weights are large is decided by the exponents: what they weigh is centred there, also where
// it falls as logits rise.
// contract: 5 shifts
// RUN: %form_sweeps %s | FileCheck %s

// Under exp(-z), a sum with a multiple of z is centred on the maximum of -z: no maximum of z
// itself.
// CHECK-LABEL: logitile.program @falling
// CHECK: state ["max0" : f32, "exp{{[0-9]+}}.high" : f32
// CHECK-NOT: "max
// CHECK: } candidate {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: logitile.multiply_no_nan %[[E]], %[[X]] : f32
// CHECK: } merge {
logitile.loss @falling vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %w = logitile.input vocab "w" : f32
  %a = arith.constant 1.7 : f32
  %x = arith.negf %z : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %log_p : f32
  %entropy = logitile.reduce sum %term : f32 -> f32
  %weighed = logitile.multiply_no_nan %p, %w : f32
  %mean = logitile.reduce sum %weighed : f32 -> f32
  %scaled = arith.mulf %a, %entropy : f32
  %loss = arith.addf %mean, %scaled : f32
  logitile.yield %loss : f32
}

// The exponents of -3 * z are made of -z, which is exact, as those of 3 * z are of z.
// CHECK-LABEL: logitile.program @threefold
// CHECK: } candidate {
// CHECK: %[[BASE:.*]] = arith.negf %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[BASE]] : f32
// CHECK: } update {
// CHECK: %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-NEXT: %[[EXPONENT:.*]] = arith.mulf %[[X]], %[[THREE]] : f32
// CHECK-NEXT: math.exp %[[EXPONENT]]
// CHECK: } merge {
logitile.loss @threefold vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %by = arith.constant -3.0 : f32
  %x = arith.mulf %z, %by : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

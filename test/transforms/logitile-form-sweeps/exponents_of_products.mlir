// Exponents of exponentials that are multiplied, and sums that the loss itself takes exponentials
// of.
// contract: 5 shifts
// RUN: %form_sweeps %s | FileCheck %s

// The exponents of two exponentials that are multiplied are added by the compiler, not by the loss.
// Their sum keeps its rounding whatever it is made of, and a product in it that of its number,
// which is no float32.
// CHECK-LABEL: logitile.program @of_a_product
// CHECK: } update {
// CHECK-DAG: %[[LOST_OF_A_THIRD:.*]] = arith.constant -9.93410775E-9 : f32
// CHECK-DAG: %[[THIRD:.*]] = arith.constant 0.333333343 : f32
// CHECK: math.fma %[[THIRD]], %[[UZ:.*]], %{{.*}} : f32
// CHECK: arith.mulf %[[UZ]], %[[LOST_OF_A_THIRD]] : f32
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max4 : f32
// CHECK-NEXT: %[[WHOLE:.*]] = arith.addf %[[X]], %{{.*}} : f32
// CHECK-NEXT: math.exp %[[WHOLE]]
// CHECK: } merge {
logitile.loss @of_a_product vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %u = logitile.input vocab "u" : f32
  %three = arith.constant 3.0 : f32
  %uz = arith.mulf %u, %z : f32
  %x = arith.divf %uz, %three : f32
  %lse_x = logitile.reduce logsumexp %x : f32 -> f32
  %lse_u = logitile.reduce logsumexp %u : f32 -> f32
  %log_p = arith.subf %x, %lse_x : f32
  %log_q = arith.subf %u, %lse_u : f32
  %p = math.exp %log_p : f32
  %q = math.exp %log_q : f32
  %term = logitile.multiply_no_nan %p, %q : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// What the loss adds is rounded, as it is where the loss compares it.
// CHECK-LABEL: logitile.program @of_a_sum
// CHECK: } update {
// CHECK: %[[U:.*]] = logitile.input vocab "u" : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %[[U]] : f32
// CHECK-NEXT: %[[X:.*]] = arith.subf %[[SUM]], %max2 : f32
// CHECK-NEXT: math.exp %[[X]]
logitile.loss @of_a_sum vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %u = logitile.input vocab "u" : f32
  %x = arith.addf %z, %u : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %d = arith.subf %x, %lse : f32
  %e = math.exp %d : f32
  %loss = logitile.reduce sum %e : f32 -> f32
  logitile.yield %loss : f32
}

// What is left of exponents that cancel may be a difference from what is one for a token. It is
// rounded as the loss wrote it.
// CHECK-LABEL: logitile.program @of_what_is_left
// CHECK: logitile.sweep @forward1
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max6 : f32
// CHECK-NEXT: math.exp %[[X]]
// CHECK: } merge {
logitile.loss @of_what_is_left vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %lse_z = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse_z : f32
  %lse_t = logitile.reduce logsumexp %t : f32 -> f32
  %log_t = arith.subf %t, %lse_t : f32
  %capped = math.tanh %log_t : f32
  %lse = logitile.reduce logsumexp %capped : f32 -> f32
  %log_q = arith.subf %capped, %lse : f32
  %ratio = arith.subf %log_p, %log_q : f32
  %r = math.exp %ratio : f32
  %q = math.exp %log_q : f32
  %term = logitile.multiply_no_nan %r, %q : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// The exponent of a power of a softmax is a multiple that the logsumexp of the exact values
// cancels: it keeps its rounding.
// CHECK-LABEL: logitile.program @of_a_power
// CHECK: } update {
// CHECK: %[[ZS:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: %[[POWER:.*]] = arith.mulf %[[ZS]], %{{.*}} : f32
// CHECK: math.fma %{{.*}}, %[[ZS]], %{{.*}} : f32
// CHECK: %[[X:.*]] = arith.subf %[[POWER]], %max{{[0-9]+}} : f32
// CHECK-NEXT: %[[WHOLE:.*]] = arith.addf %[[X]], %{{.*}} : f32
// CHECK-NEXT: math.exp %[[WHOLE]]
// CHECK: } merge {
logitile.loss @of_a_power vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input scalar "s" : f32
  %n = arith.constant 1.3 : f32
  %x = arith.mulf %z, %s : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %exponent = arith.mulf %log_p, %n : f32
  %power = math.exp %exponent : f32
  %loss = logitile.reduce sum %power : f32 -> f32
  logitile.yield %loss : f32
}

// A logsumexp that divides and multiplies is not added to that of x: no sweep has to find it.
// CHECK-LABEL: logitile.program @divided_and_multiplied
// CHECK: logitile.sweep @forward0 forward state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32] init
// CHECK-NOT: logitile.sweep
logitile.loss @divided_and_multiplied vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %x = arith.mulf %z, %z : f32
  %lse_x = logitile.reduce logsumexp %x : f32 -> f32
  %lse_z = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %x, %lse_x : f32
  %log_q = arith.subf %z, %lse_z : f32
  %log_ratio = arith.subf %log_p, %log_q : f32
  %ratio = math.exp %log_ratio : f32
  %q = math.exp %log_q : f32
  %term = logitile.multiply_no_nan %ratio, %q : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

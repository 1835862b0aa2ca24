// Products that are not multiplied out: their parts would cancel. The sum waits for a sweep of its
// own.
// RUN: %form_sweeps %s | FileCheck %s

// No square: sum (z - z[y])^2 is not sum z^2 - 2 z[y] sum z + V z[y]^2.
// CHECK-LABEL: logitile.program @square
// CHECK: logitile.sweep @forward0 forward state ["pick0" : f32]
// CHECK: logitile.sweep @forward1 forward state ["sum1.high" : f32, "sum1.low" : f32]
// CHECK: } update {
// CHECK: %[[D:.*]] = arith.subf
// CHECK-NEXT: arith.mulf %[[D]], %[[D]] : f32
logitile.loss @square vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %target = logitile.input token "target" : i32
  %picked = logitile.gather %z[%target] : f32
  %d = arith.subf %z, %picked : f32
  %dd = arith.mulf %d, %d : f32
  %loss = logitile.reduce sum %dd : f32 -> f32
  logitile.yield %loss : f32
}

// Not two factors that both have an unfinished addend.
// CHECK-LABEL: logitile.program @two_sums
// CHECK: logitile.sweep @forward1 forward state ["sum2.high" : f32, "sum2.low" : f32]
logitile.loss @two_sums vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %r = logitile.input vocab "r" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %a = arith.subf %q, %lse : f32
  %b = arith.subf %r, %lse : f32
  %x = arith.mulf %a, %b : f32
  %loss = logitile.reduce sum %x : f32 -> f32
  logitile.yield %loss : f32
}

// Not one such factor beside logits.
// CHECK-LABEL: logitile.program @beside_logits
// CHECK: logitile.sweep @forward1 forward state ["sum3.high" : f32, "sum3.low" : f32]
logitile.loss @beside_logits vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %a = arith.subf %q, %lse : f32
  %x = arith.mulf %a, %z : f32
  %loss = logitile.reduce sum %x : f32 -> f32
  logitile.yield %loss : f32
}

// A difference from a mean stays whole, up to the exponent: (z - mean) / deviation is not z /
// deviation - mean / deviation.
// CHECK-LABEL: logitile.program @standardised
// CHECK: logitile.sweep @forward1 forward state ["sum1.high" : f32, "sum1.low" : f32]
// CHECK: logitile.sweep @forward2 forward state ["max2" : f32, "exp3.high" : f32, "exp3.low" : f32]
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK: arith.mulf %[[X]], %{{.*}} : f32
logitile.loss @standardised vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %mean = logitile.reduce mean %z : f32 -> f32
  %x = arith.subf %z, %mean : f32
  %square = arith.mulf %x, %x : f32
  %variance = logitile.reduce mean %square : f32 -> f32
  %deviation = math.sqrt %variance : f32
  %y = arith.divf %x, %deviation : f32
  %loss = logitile.reduce logsumexp %y : f32 -> f32
  logitile.yield %loss : f32
}

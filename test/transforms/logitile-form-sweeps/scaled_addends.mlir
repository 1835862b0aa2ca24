// What a scaled difference is relative to leaves the exponent with the rounding that the entries
// have there.
// contract: 5 one value
// RUN: %form_sweeps %s | FileCheck %s

// An entry is multiplied once, as in the sweep, without a rounding error beside it. So it cancels
// the maximum, to which it is equal.
// CHECK-LABEL: logitile.program @own_maximum
// CHECK: } candidate {
// CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32
// CHECK: logitile.finish @finish1
// CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %{{.*}}: i32, %{{.*}}: f32, %[[BEST:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NOT: math.fma
// CHECK: %[[ENTRY:.*]] = arith.mulf %[[BEST]], %{{.*}} : f32
// CHECK-NEXT: arith.subf %[[MAX]], %[[ENTRY]] : f32
// CHECK-NOT: math.fma
logitile.loss @own_maximum vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %n = logitile.input token "n" : f32
  %max = logitile.reduce max %z : f32 -> f32
  %distance = arith.subf %z, %max : f32
  %x = arith.mulf %distance, %n : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// The same under an exponential that no logarithm is taken of, and with another addend beside the
// entry.
// CHECK-LABEL: logitile.program @beside_another
// CHECK: logitile.finish @finish1
// CHECK: %[[ENTRY:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: arith.subf %{{.*}}, %[[ENTRY]] : f32
// CHECK: math.exp
logitile.loss @beside_another vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %n = logitile.input token "n" : f32
  %b = logitile.input token "b" : f32
  %y = logitile.input token "y" : i32
  %entry = logitile.gather %z[%y] : f32
  %addend = arith.subf %b, %entry : f32
  %distance = arith.addf %z, %addend : f32
  %x = arith.mulf %distance, %n : f32
  %e = math.exp %x : f32
  %loss = logitile.reduce sum %e : f32 -> f32
  logitile.yield %loss : f32
}

// The entry is one of -3 * u, and exponents are made of 3 * (u - max): both products come with
// their rounding error.
// CHECK-LABEL: logitile.program @negative_entry
// CHECK: logitile.finish @finish1
// CHECK: %[[ENTRY:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[NEGATIVE:.*]] = arith.negf %[[ENTRY]] : f32
// CHECK-NEXT: math.fma %{{.*}}, %{{.*}}, %[[NEGATIVE]] : f32
// CHECK: %[[LARGEST:.*]] = arith.mulf %max0, %{{.*}} : f32
// CHECK-NEXT: %[[LESS:.*]] = arith.negf %[[LARGEST]] : f32
// CHECK-NEXT: math.fma %{{.*}}, %{{.*}}, %[[LESS]] : f32
logitile.loss @negative_entry vocab 100 outputs ["loss"] {
  %u = logitile.input vocab "u" : f32
  %y = logitile.input token "y" : i32
  %three = arith.constant 3.000000e+00 : f32
  %entry = logitile.gather %u[%y] : f32
  %distance = arith.subf %u, %entry : f32
  %x = arith.mulf %distance, %three : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

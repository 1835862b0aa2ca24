// Every exponent has a running maximum of its base. Positive multiples of one base share it.
// contract: 5 shifts
// RUN: %form_sweeps %s | FileCheck %s

// z and z / 4: one maximum, two sums.
// CHECK-LABEL: logitile.program @two_scales
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp2.high" : f32, "exp2.low" : f32]
// CHECK: } candidate {
// CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK-NEXT: logitile.yield %[[Z]] : f32
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK: math.exp %[[X]] : f32
// CHECK: %[[WARM:.*]] = arith.mulf %[[X]], %{{.*}} : f32
// CHECK: math.exp %[[WARM]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @two_scales vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %quarter = arith.constant 0.25 : f32
  %warm = arith.mulf %z, %quarter : f32
  %a = logitile.reduce logsumexp %z : f32 -> f32
  %b = logitile.reduce logsumexp %warm : f32 -> f32
  %loss = arith.addf %a, %b : f32
  logitile.yield %loss : f32
}

// So does a factor per token that is proved positive.
// CHECK-LABEL: logitile.program @positive_scale
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp2.high" : f32, "exp2.low" : f32]
logitile.loss @positive_scale vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input token "s" : f32
  %scale = math.exp %s : f32
  %x = arith.mulf %z, %scale : f32
  %a = logitile.reduce logsumexp %z : f32 -> f32
  %b = logitile.reduce logsumexp %x : f32 -> f32
  %loss = arith.addf %a, %b : f32
  logitile.yield %loss : f32
}

// A factor of unknown sign is part of the base. The product is rounded before the maximum is
// subtracted, as the maximum was.
// CHECK-LABEL: logitile.program @unknown_sign
// CHECK: state ["max0" : f32, "max2" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp3.high" : f32, "exp3.low" : f32]
// CHECK: } update {
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: %[[X:.*]] = arith.subf %[[SCALED]], %max2 : f32
// CHECK: math.exp %[[X]] : f32
logitile.loss @unknown_sign vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input token "s" : f32
  %x = arith.mulf %z, %s : f32
  %a = logitile.reduce logsumexp %z : f32 -> f32
  %b = logitile.reduce logsumexp %x : f32 -> f32
  %loss = arith.addf %a, %b : f32
  logitile.yield %loss : f32
}

// A size plus a positive number is positive, and so is one plus a count: such factors leave
// exponents as any positive factor does.
// CHECK-LABEL: logitile.program @positive_sums
// CHECK: state ["max1" : f32, "count0" : i32, "exp2.high" : f32, "exp2.low" : f32, "exp3.high" : f32, "exp3.low" : f32]
// CHECK: logitile.sweep @forward1
// CHECK-SAME: state ["exp{{[0-9]+}}.high" : f32, "exp{{[0-9]+}}.low" : f32]
logitile.loss @positive_sums vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input scalar "s" : f32
  %m = logitile.input vocab "m" : i1
  %half = arith.constant 0.5 : f32
  %size = math.absf %s : f32
  %a = arith.addf %size, %half : f32
  %some = logitile.reduce count %m : i1 -> i32
  %number = arith.sitofp %some : i32 to f32
  %b = arith.addf %number, %half : f32
  %x = arith.mulf %z, %a : f32
  %y = arith.mulf %z, %b : f32
  %lse_z = logitile.reduce logsumexp %z : f32 -> f32
  %lse_x = logitile.reduce logsumexp %x : f32 -> f32
  %lse_y = logitile.reduce logsumexp %y : f32 -> f32
  %sum = arith.addf %lse_x, %lse_y : f32
  %loss = arith.addf %sum, %lse_z : f32
  logitile.yield %loss : f32
}

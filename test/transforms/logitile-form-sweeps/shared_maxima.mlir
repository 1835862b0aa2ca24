// Every exponent has a running maximum of its base. Positive multiples of one base share it.
// contract: 5 shifts
// RUN: %form_sweeps %s | FileCheck %s

// z and z / 4: one maximum, two sums.
// CHECK-LABEL: logitile.program @two_scales
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp2.high" : f32, "exp2.low" : f32]
// CHECK: } bound {
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

// A factor of unknown sign is part of the base. The product is rounded before the maximum is subtracted, as the maximum was.
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

// A logsumexp is scale * maximum and the logarithm of a sum, kept apart: as one number it has the
// rounding of the maximum.
// RUN: %form_sweeps %s | FileCheck %s

// A later sweep subtracts first the maximum, with the distance that the sum was made of, then the
// logarithm.
// CHECK-LABEL: logitile.program @later_sweep
// CHECK: logitile.finish @finish1 {{.*}} results ["{{v[0-9]+}}" : f32, "{{v[0-9]+}}" : f32]
// CHECK-NEXT: ^bb0(%max0: f32, %exp1.high: f32, %exp1.low: f32):
// CHECK: %[[SUM:.*]] = arith.addf %exp1.high, %{{.*}} : f32
// CHECK-NEXT: %[[LOG:.*]] = math.log %[[SUM]] : f32
// CHECK-NEXT: logitile.yield %max0, %[[LOG]] : f32, f32
// CHECK: } update {
// CHECK: %[[HIGH:.*]] = logitile.known <@finish1[0]> : f32
// CHECK-NEXT: %[[X:.*]] = arith.subf %{{.*}}, %[[HIGH]] : f32
// CHECK-NEXT: %[[LOW:.*]] = logitile.known <@finish1[1]> : f32
// CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[LOW]] : f32
// CHECK-NEXT: arith.addf %[[X]], %[[MINUS]] : f32
logitile.loss @later_sweep vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %abs = math.absf %log_p : f32
  %loss = logitile.reduce sum %abs : f32 -> f32
  logitile.yield %loss : f32
}

// A probability is e^(z - max) / sum: the exponential of the sweep again, and one factor per token.
// CHECK-LABEL: logitile.program @probability
// CHECK: logitile.finish @finish1 {{.*}} results ["loss" : f32, "{{v[0-9]+}}" : f32, "{{v[0-9]+}}" : f32]
// CHECK: logitile.gradient {
// CHECK: %[[M:.*]] = logitile.known <@finish1[1]> : f32
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %[[M]] : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK-NEXT: %[[FACTOR:.*]] = logitile.known <@finish1[2]> : f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[E]], %[[FACTOR]] : f32
// CHECK-NEXT: %[[UP:.*]] = logitile.input cotangent "loss" : f32
// CHECK-NEXT: logitile.multiply_no_nan %[[P]], %[[UP]] : f32
logitile.loss @probability vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %loss = logitile.reduce logsumexp %z : f32 -> f32
  logitile.yield %loss : f32
}

// Logits of two projections that cancel keep what their difference lost, through a factor, up to
// the function.
// CHECK-LABEL: logitile.program @difference
// CHECK: } update {
// CHECK: %[[D:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK: %[[FINITE:.*]] = math.isfinite
// CHECK: math.absf
logitile.loss @difference vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %a = logitile.reduce logsumexp %z : f32 -> f32
  %b = logitile.reduce logsumexp %t : f32 -> f32
  %log_p = arith.subf %z, %a : f32
  %log_q = arith.subf %t, %b : f32
  %d = arith.subf %log_p, %log_q : f32
  %abs = math.absf %d : f32
  %loss = logitile.reduce sum %abs : f32 -> f32
  logitile.yield %loss : f32
}

// Where the maximum is a multiple and cancels, so does what the product has lost, and the logarithm
// comes to what is left.
// CHECK-LABEL: logitile.program @distance
// CHECK: logitile.finish @finish1
// CHECK: %[[LARGE:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: %[[REST:.*]] = arith.subf %[[LARGE]], %{{.*}} : f32
// CHECK: %[[LOST:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK: %[[ALL_LOST:.*]] = arith.addf %[[LOST]], %{{.*}} : f32
// CHECK: %[[LOG:.*]] = math.log
// CHECK-NEXT: %[[SMALL:.*]] = arith.addf %[[ALL_LOST]], %[[LOG]] : f32
// CHECK-NEXT: %[[LOSS:.*]] = arith.addf %[[REST]], %[[SMALL]] : f32
// CHECK-NEXT: logitile.yield %[[LOSS]] : f32
logitile.loss @distance vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %number = arith.constant 2.7 : f32
  %x = arith.mulf %z, %number : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %index = logitile.reduce argmax %x : f32 -> i32
  %max = logitile.gather %x[%index] : f32
  %loss = arith.subf %lse, %max : f32
  logitile.yield %loss : f32
}

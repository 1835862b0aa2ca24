// A sum that is linear in logits keeps what it loses: about a running maximum under an exponential,
// else by its low part.
// contract: 5 factoring
// RUN: %form_sweeps %s | FileCheck %s

// Weighted by the exponential whose maximum it is centred on. When that moves, the moment moves by
// weight * distance; what is lost to rounding then stays in its low part, as a mean may be small
// where maxima are large.
// CHECK-LABEL: logitile.program @moment
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp2.high" : f32, "exp2.low" : f32]
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: %[[TERM:.*]] = logitile.multiply_no_nan %[[E]], %[[X]] : f32
// CHECK-NEXT: arith.addf %exp2.high, %[[TERM]] : f32
// CHECK: } merge {
// CHECK: %[[MOVED:.*]] = arith.subf %max0.a, %{{.*}} : f32
// CHECK: %[[RATIO:.*]] = math.exp %[[MOVED]] : f32
// CHECK: %[[SHIFT:.*]] = logitile.multiply_no_nan %exp1.high.a, %[[MOVED]] : f32
// CHECK: %[[LOST:.*]] = math.fma %exp1.high.a, %[[MOVED]], %{{.*}} : f32
// CHECK: %[[FINITE:.*]] = arith.select %{{.*}}, %[[LOST]], %{{.*}} : f32
// CHECK: %[[LOWS:.*]] = logitile.multiply_no_nan %exp1.low.a, %[[MOVED]] : f32
// CHECK-NEXT: %[[SHIFTED:.*]] = arith.addf %[[FINITE]], %[[LOWS]] : f32
// CHECK-NEXT: %[[MOMENT:.*]] = arith.addf %exp2.high.a, %[[SHIFT]] : f32
// CHECK: %[[LOW:.*]] = arith.addf %{{.*}}, %[[SHIFTED]] : f32
// CHECK-NEXT: logitile.multiply_no_nan %[[RATIO]], %[[LOW]] : f32
// CHECK-NEXT: logitile.multiply_no_nan %[[RATIO]], %[[MOMENT]] : f32
logitile.loss @moment vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %z : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// Each projection is centred on its own maximum: about that of the difference, z at 300 and t at
// 100 would round at 200.
// CHECK-LABEL: logitile.program @own_maxima
// CHECK: state ["max0" : f32, "max2" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp3.high" : f32, "exp3.low" : f32]
// CHECK: } update {
// CHECK-DAG: %[[Z:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-DAG: %[[T:.*]] = arith.subf %{{.*}}, %max2 : f32
// CHECK: %[[MINUS:.*]] = arith.mulf %[[T]], %{{.*}} : f32
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[Z]], %[[MINUS]] : f32
// CHECK-NEXT: logitile.multiply_no_nan %{{.*}}, %[[D]] : f32
logitile.loss @own_maxima vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %d = arith.subf %z, %t : f32
  %term = logitile.multiply_no_nan %p, %d : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// The low part of a sum adds up what additions to the high part lose. A low part that is not finite
// says nothing.
// CHECK-LABEL: logitile.program @mean
// CHECK: state ["sum0.high" : f32, "sum0.low" : f32]
// CHECK: } update {
// CHECK: %[[SUM:.*]] = arith.addf %sum0.high, %[[Z:.*]] : f32
// CHECK-NEXT: %[[ADDED:.*]] = arith.subf %[[SUM]], %sum0.high : f32
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subf %[[SUM]], %[[ADDED]] : f32
// CHECK-NEXT: %[[LOST0:.*]] = arith.subf %sum0.high, %[[BEFORE]] : f32
// CHECK-NEXT: %[[LOST1:.*]] = arith.subf %[[Z]], %[[ADDED]] : f32
// CHECK-NEXT: %[[LOST:.*]] = arith.addf %[[LOST0]], %[[LOST1]] : f32
// CHECK-NEXT: %[[LOW:.*]] = arith.addf %sum0.low, %[[LOST]] : f32
// CHECK-NEXT: logitile.yield %[[SUM]], %[[LOW]] : f32, f32
// CHECK: } merge {
// CHECK: arith.addf %sum0.high.a, %sum0.high.b : f32
// CHECK: %[[LOWS:.*]] = arith.addf %sum0.low.a, %{{.*}} : f32
// CHECK-NEXT: arith.addf %[[LOWS]], %sum0.low.b : f32
// CHECK: logitile.finish
// CHECK: %[[FINITE:.*]] = math.isfinite %sum0.low : f32
// CHECK-NEXT: arith.select %[[FINITE]], %sum0.low, %{{.*}} : f32
logitile.loss @mean vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %loss = logitile.reduce mean %z : f32 -> f32
  logitile.yield %loss : f32
}

// So does that of a product, with the rounding of the product.
// CHECK-LABEL: logitile.program @raw
// CHECK: state ["sum1.high" : f32, "sum1.low" : f32]
// CHECK: } update {
// CHECK: %[[P:.*]] = arith.mulf %[[Q:.*]], %[[Z:.*]] : f32
// CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[P]] : f32
// CHECK-NEXT: %[[LOST:.*]] = math.fma %[[Q]], %[[Z]], %[[MINUS]] : f32
// CHECK: %[[LOW:.*]] = arith.addf %sum1.low, %{{.*}} : f32
// CHECK-NEXT: arith.addf %[[LOW]], %[[LOST]] : f32
logitile.loss @raw vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %term = arith.mulf %q, %z : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// An unfinished addend is pulled out beside them: sum and addend cancel in the finish, as pairs.
// CHECK-LABEL: logitile.program @pulled
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "sum2.high" : f32, "sum2.low" : f32, "sum3.high" : f32, "sum3.low" : f32]
// CHECK: } update {
// CHECK: %[[TERM:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %sum3.high, %[[TERM]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @pulled vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %term = arith.mulf %q, %log_p : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// What is as large as logits without being linear in them is centred as well, where it is the base
// of the exponent.
// CHECK-LABEL: logitile.program @part_of_a_sum
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: %[[W:.*]] = logitile.input vocab "w" : f32
// CHECK-NEXT: %[[MINUS:.*]] = arith.mulf %[[X]], %{{.*}} : f32
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[W]], %[[MINUS]] : f32
// CHECK-NEXT: logitile.multiply_no_nan %[[E]], %[[D]] : f32
logitile.loss @part_of_a_sum vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %w = logitile.input vocab "w" : f32
  %x = arith.mulf %z, %z : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %d = arith.subf %w, %x : f32
  %term = logitile.multiply_no_nan %p, %d : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

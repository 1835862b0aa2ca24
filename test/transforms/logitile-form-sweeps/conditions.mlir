// Where the condition of a select goes when a sum is taken apart.
// RUN: %form_sweeps %s | FileCheck %s

// One per token leaves the sum with its factor, and stands in front of it: where it does not hold,
// lse / a may be infinite, and infinity times an empty sum would be NaN.
// CHECK-LABEL: logitile.program @per_token
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "sum2.high" : f32, "sum2.low" : f32]
// CHECK: logitile.finish @finish1
// CHECK: %[[HOLDS:.*]] = arith.cmpf ogt
// CHECK: %[[SLOPE:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
// CHECK: %[[FACTOR:.*]] = arith.select %[[HOLDS]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: logitile.multiply_no_nan %{{.*}}, %[[FACTOR]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @per_token vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %a = logitile.input token "a" : f32
  %zero = arith.constant 0.0 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %slope = arith.divf %lse, %a : f32
  %holds = arith.cmpf ogt, %a, %zero : f32
  %x = arith.mulf %slope, %q : f32
  %term = arith.select %holds, %x, %zero : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// One along the vocabulary stays inside: the last thing to happen to the summand, so that a NaN it
// hides is not added.
// CHECK-LABEL: logitile.program @along_the_vocabulary
// CHECK: } update {
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[HERE:.*]] = arith.cmpi slt
// CHECK: %[[TERM:.*]] = arith.select %[[HERE]], %[[E]], %{{.*}} : f32
// CHECK-NEXT: arith.addf %exp2.high, %[[TERM]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @along_the_vocabulary vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %target = logitile.input token "target" : i32
  %zero = arith.constant 0.0 : f32
  %column = logitile.column : i32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %here = arith.cmpi slt, %column, %target : i32
  %term = arith.select %here, %p, %zero : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// One that is not finished itself takes a further sweep.
// CHECK-LABEL: logitile.program @unfinished
// CHECK: logitile.sweep @forward1 forward state ["sum2.high" : f32, "sum2.low" : f32]
logitile.loss @unfinished vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %zero = arith.constant 0.0 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %holds = arith.cmpf ogt, %z, %lse : f32
  %term = arith.select %holds, %q, %zero : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// What a reduction waits for leaves it as factor or addend, if that saves a sweep; what is finished
// stays inside.
// contract: 5 factoring
// RUN: %form_sweeps %s | FileCheck %s

// One sweep: the factor multiplies the finished sum.
// CHECK-LABEL: logitile.program @factor
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "sum2.high" : f32, "sum2.low" : f32]
// CHECK: logitile.finish @finish1
// CHECK: %[[SUM:.*]] = arith.select %{{.*}}, %sum2.high, %{{.*}} : f32
// CHECK: arith.mulf %{{.*}}, %[[SUM]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @factor vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %x = arith.mulf %q, %lse : f32
  %loss = logitile.reduce sum %x : f32 -> f32
  logitile.yield %loss : f32
}

// Nothing is gained: s * q - r is summed as it stands.
// CHECK-LABEL: logitile.program @finished
// CHECK: state ["sum0.high" : f32, "sum0.low" : f32]
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.mulf
// CHECK: %[[D:.*]] = arith.subf %[[X]], %{{.*}} : f32
// CHECK-NEXT: arith.addf %sum0.high, %[[D]] : f32
logitile.loss @finished vocab 100 outputs ["loss"] {
  %q = logitile.input vocab "q" : f32
  %r = logitile.input vocab "r" : f32
  %s = logitile.input token "s" : f32
  %x = arith.mulf %q, %s : f32
  %d = arith.subf %x, %r : f32
  %loss = logitile.reduce sum %d : f32 -> f32
  logitile.yield %loss : f32
}

// Addends with one unfinished factor become one value again before they are summed.
// CHECK-LABEL: logitile.program @regrouped
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "sum2.high" : f32, "sum2.low" : f32]
// CHECK: } update {
// CHECK: %[[B:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[D:.*]] = arith.subf %{{.*}}, %[[B]] : f32
// CHECK-NEXT: arith.addf %sum2.high, %[[D]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @regrouped vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %r = logitile.input vocab "r" : f32
  %a = logitile.input token "a" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %x = arith.mulf %lse, %q : f32
  %ra = arith.mulf %a, %r : f32
  %y = arith.mulf %lse, %ra : f32
  %d = arith.subf %x, %y : f32
  %loss = logitile.reduce sum %d : f32 -> f32
  logitile.yield %loss : f32
}

// Exponentials part: sum p (1 - p) is 1 - sum p^2, so two sums under one maximum.
// CHECK-LABEL: logitile.program @exponentials
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32, "exp2.high" : f32, "exp2.low" : f32]
// CHECK-NOT: logitile.sweep
logitile.loss @exponentials vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %one = arith.constant 1.0 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %rest = arith.subf %one, %p : f32
  %x = logitile.multiply_no_nan %p, %rest : f32
  %loss = logitile.reduce sum %x : f32 -> f32
  logitile.yield %loss : f32
}

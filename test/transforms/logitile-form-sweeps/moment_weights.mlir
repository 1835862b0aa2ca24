// The weights that move a moment are in its own sweep; a moment that does not move needs none there.
// RUN: %form_sweeps %s | FileCheck %s

// The sum of q is there after the first sweep. The second one has another maximum that moves: it sums q again.
// CHECK-LABEL: logitile.program @again
// CHECK: logitile.sweep @forward0 forward state ["sum0" : f32]
// CHECK: logitile.sweep @forward1 forward state ["max1" : f32, "exp2" : f32, "sum3" : f32, "sum4" : f32]
// CHECK: } merge {
// CHECK: %[[MOVED:.*]] = arith.subf %max1.a, %{{.*}} : f32
// CHECK: %[[SHIFT:.*]] = logitile.weigh %sum3.a, %[[MOVED]] : f32
// CHECK-NEXT: arith.addf %sum4.a, %[[SHIFT]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @again vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %total = logitile.reduce sum %q : f32 -> f32
  %r = logitile.input vocab "r" : f32
  %y = arith.mulf %r, %total : f32
  %bent = math.tanh %y : f32
  %x = arith.addf %z, %bent : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %term = arith.mulf %q, %log_p : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// The maximum of z is finished before the sweep that is centred on it: parts of the vocabulary are added as they are.
// CHECK-LABEL: logitile.program @finished_centre
// CHECK: logitile.sweep @forward1 forward state ["[[MAX:max[0-9]+]]" : f32, "[[EXP:exp[0-9]+]]" : f32, "[[WEIGHTS:sum[0-9]+]]" : f32, "[[MOMENT:sum[0-9]+]]" : f32]
// CHECK: } merge {
// CHECK: arith.addf %[[WEIGHTS]].a, %[[WEIGHTS]].b : f32
// CHECK-NEXT: arith.addf %[[MOMENT]].a, %[[MOMENT]].b : f32
logitile.loss @finished_centre vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %y = arith.mulf %q, %lse : f32
  %f = math.tanh %y : f32
  %x = arith.mulf %t, %lse : f32
  %other = logitile.reduce logsumexp %x : f32 -> f32
  %d = arith.subf %z, %other : f32
  %term = arith.mulf %f, %d : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// The weights that move a moment are in its own sweep; a moment that does not move needs none
// there.
// RUN: %form_sweeps %s | FileCheck %s

// The sum of e^z is there after the first sweep. The second one has another maximum that moves: it
// sums e^z again.
// CHECK-LABEL: logitile.program @again
// CHECK: logitile.sweep @forward0 forward state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32]
// CHECK: logitile.sweep @forward1 forward state ["max2" : f32, "exp3.high" : f32, "exp3.low" : f32, "exp4.high" : f32, "exp4.low" : f32, "exp5.high" : f32, "exp5.low" : f32]
// CHECK: } merge {
// CHECK: %[[MOVED:.*]] = arith.subf %max2.a, %{{.*}} : f32
// CHECK: %[[SHIFT:.*]] = logitile.multiply_no_nan %exp4.high.a, %[[MOVED]] : f32
// CHECK: arith.addf %exp5.high.a, %[[SHIFT]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @again vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %y = arith.mulf %q, %lse : f32
  %f = math.tanh %y : f32
  %x = arith.addf %t, %f : f32
  %other = logitile.reduce logsumexp %x : f32 -> f32
  %log_r = arith.subf %z, %other : f32
  %r = math.exp %log_r : f32
  %log_q = arith.subf %x, %other : f32
  %term = logitile.multiply_no_nan %r, %log_q : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// The maximum of z is finished before the sweep that is centred on it: parts of the vocabulary are
// added as they are.
// CHECK-LABEL: logitile.program @finished_centre
// CHECK: logitile.sweep @forward1 forward state ["{{max[0-9]+}}" : f32, "{{exp[0-9]+}}.high" : f32, "{{exp[0-9]+}}.low" : f32, "[[WEIGHTS:exp[0-9]+]].high" : f32, "[[WEIGHTS]].low" : f32, "[[MOMENT:exp[0-9]+]].high" : f32, "[[MOMENT]].low" : f32]
// CHECK: } merge {
// CHECK: arith.addf %[[WEIGHTS]].high.a, %[[WEIGHTS]].high.b : f32
// CHECK: arith.addf %[[MOMENT]].high.a, %[[MOMENT]].high.b : f32
logitile.loss @finished_centre vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %y = arith.mulf %q, %lse : f32
  %f = math.tanh %y : f32
  %x = arith.addf %t, %f : f32
  %other = logitile.reduce logsumexp %x : f32 -> f32
  %log_r = arith.subf %z, %other : f32
  %r = math.exp %log_r : f32
  %fz = arith.mulf %f, %z : f32
  %term = logitile.multiply_no_nan %r, %fz : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

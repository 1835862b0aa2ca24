// What an exponent is made of.
// contract: 5 shifts
// RUN: %form_sweeps %s | FileCheck %s

// A logsumexp takes the sum of two projections as it is rounded: an entry less the maximum is never
// above 0.
// CHECK-LABEL: logitile.program @rounded
// CHECK: state ["max0" : f32, "exp1.high" : f32, "exp1.low" : f32]
// CHECK: } update {
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: %[[X:.*]] = arith.subf %[[SUM]], %max0 : f32
// CHECK-NEXT: math.exp %[[X]]
logitile.loss @rounded vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %x = arith.addf %z, %t : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// Under another sum, both projections are multiplied with what normalises them. There the sum keeps
// its rounding: it is added after the maximum is subtracted.
// CHECK-LABEL: logitile.program @normalised
// CHECK: state ["max0" : f32, "max2" : f32, "max4" : f32,
// CHECK: } update {
// CHECK: %[[LOST:.*]] = arith.select
// CHECK-NEXT: %[[X:.*]] = arith.subf %{{.*}}, %max4 : f32
// CHECK-NEXT: %[[WHOLE:.*]] = arith.addf %[[X]], %[[LOST]] : f32
// CHECK-NEXT: math.exp %[[WHOLE]]
logitile.loss @normalised vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %a = logitile.reduce logsumexp %z : f32 -> f32
  %b = logitile.reduce logsumexp %t : f32 -> f32
  %p = arith.subf %z, %a : f32
  %q = arith.subf %t, %b : f32
  %x = arith.addf %p, %q : f32
  %e = math.exp %x : f32
  %loss = logitile.reduce sum %e : f32 -> f32
  logitile.yield %loss : f32
}

// The maximum is that of the entries that count; it starts at a finite number, so -inf weighs 0
// where all is masked.
// CHECK-LABEL: logitile.program @masked
// CHECK: %[[LOWEST:.*]] = arith.constant -3.40282347E+38 : f32
// CHECK: logitile.yield %[[LOWEST]],
// CHECK: } candidate {
// CHECK: %[[X:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32
logitile.loss @masked vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %keep = logitile.input vocab "keep" : i1
  %inf = arith.constant 0xFF800000 : f32
  %x = arith.select %keep, %z, %inf : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// Under the mask of the same loss an unfinished addend leaves the exponent: -inf absorbs it. One
// sweep.
// CHECK-LABEL: logitile.program @masked_probability
// CHECK: logitile.sweep @forward0
// CHECK-NOT: logitile.sweep
logitile.loss @masked_probability vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %keep = logitile.input vocab "keep" : i1
  %inf = arith.constant 0xFF800000 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %x = arith.select %keep, %log_p, %inf : f32
  %p = math.exp %x : f32
  %term = logitile.multiply_no_nan %p, %q : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// A branch with an addend of its own cannot leave it: the sum waits for the finished logsumexp.
// CHECK-LABEL: logitile.program @two_addends
// CHECK: logitile.sweep @forward0
// CHECK: logitile.sweep @forward1
logitile.loss @two_addends vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %keep = logitile.input vocab "keep" : i1
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %x = arith.select %keep, %log_p, %z : f32
  %p = math.exp %x : f32
  %loss = logitile.reduce sum %p : f32 -> f32
  logitile.yield %loss : f32
}

// The exponential that leaves such a sum may be 0 where the sum is infinite: the result is NaN
// then, not 0.
// CHECK-LABEL: logitile.program @out_of_range
// CHECK: logitile.finish @finish1
// CHECK: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
// CHECK: %[[OUTSIDE:.*]] = math.exp
// CHECK-NEXT: %[[VANISHES:.*]] = arith.cmpf oeq, %[[OUTSIDE]], %{{.*}} : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %exp5.high, %{{.*}} : f32
// CHECK-NEXT: %[[FINITE:.*]] = math.isfinite %[[SUM]] : f32
// CHECK-NEXT: %[[NOT:.*]] = arith.xori %[[FINITE]], %{{.*}} : i1
// CHECK-NEXT: %[[BEYOND:.*]] = arith.andi %[[VANISHES]], %[[NOT]] : i1
// CHECK: arith.select %[[BEYOND]], %[[NAN]], %{{.*}} : f32
logitile.loss @out_of_range vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %lse_z = logitile.reduce logsumexp %z : f32 -> f32
  %lse_t = logitile.reduce logsumexp %t : f32 -> f32
  %log_p = arith.subf %z, %lse_z : f32
  %log_q = arith.subf %t, %lse_t : f32
  %p = math.exp %log_p : f32
  %q = math.exp %log_q : f32
  %term = logitile.multiply_no_nan %p, %q : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// A part that has a softmax of its own is rounded in it, and so it is in the sum.
// CHECK-LABEL: logitile.program @rounded_part
// CHECK: } update {
// CHECK: %[[PART:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: math.fma
// CHECK: arith.addf %{{.*}}, %[[PART]] : f32
// CHECK-NOT: math.fma
// CHECK: } merge {
logitile.loss @rounded_part vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input scalar "s" : f32
  %x = arith.mulf %z, %s : f32
  %lse_x = logitile.reduce logsumexp %x : f32 -> f32
  %lse_z = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %x, %lse_x : f32
  %log_q = arith.subf %z, %lse_z : f32
  %p = math.exp %log_p : f32
  %q = math.exp %log_q : f32
  %term = logitile.multiply_no_nan %p, %q : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

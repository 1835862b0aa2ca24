// RUN: %form_sweeps %s --logitile-classify-gradient | FileCheck %s
// Gradients in which logits have a say by one exponential.

// p, less a sparse term.
// CHECK-LABEL: logitile.program @cross_entropy
// CHECK: logitile.gradient exponential {
logitile.loss @cross_entropy vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %target = logitile.input token "target" : i32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %picked = logitile.gather %z[%target] : f32
  %loss = arith.subf %lse, %picked : f32
  logitile.yield %loss : f32
}

// p log p: p may be multiplied with any polynomial of what its exponent is made of.
// CHECK-LABEL: logitile.program @entropy
// CHECK: logitile.gradient exponential {
logitile.loss @entropy vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %log_p : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// A factor of unknown sign and a mask are part of the exponent, and of its maximum.
// CHECK-LABEL: logitile.program @scaled_and_masked
// CHECK: logitile.gradient exponential {
logitile.loss @scaled_and_masked vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %scale = logitile.input scalar "scale" : f32
  %keep = logitile.input vocab "keep" : i1
  %inf = arith.constant 0xFF800000 : f32
  %scaled = arith.mulf %z, %scale : f32
  %x = arith.select %keep, %scaled, %inf : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// A softcap; smoothing makes an addend of its derivative alone, which is bounded.
// CHECK-LABEL: logitile.program @capped_and_smoothed
// CHECK: logitile.gradient exponential {
logitile.loss @capped_and_smoothed vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %cap = arith.constant 30.0 : f32
  %small = arith.constant 0.001 : f32
  %inner = arith.divf %z, %cap : f32
  %bounded = math.tanh %inner : f32
  %x = arith.mulf %bounded, %cap : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %sum = logitile.reduce sum %x : f32 -> f32
  %smooth = arith.mulf %sum, %small : f32
  %loss = arith.subf %lse, %smooth : f32
  logitile.yield %loss : f32
}

// A branch that is not taken is zero.
// CHECK-LABEL: logitile.program @guarded
// CHECK: logitile.gradient exponential {
logitile.loss @guarded vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %counts = logitile.input token "counts" : i1
  %zero = arith.constant 0.0 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %loss = arith.select %counts, %lse, %zero : f32
  logitile.yield %loss : f32
}

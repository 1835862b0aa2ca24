// RUN: %form_sweeps %s --logitile-classify-gradient | FileCheck %s --implicit-check-not='gradient exponential'
// Gradients in which logits far below the largest may count as much as it.

// CHECK-LABEL: logitile.program @squares
logitile.loss @squares vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %square = arith.mulf %z, %z : f32
  %loss = logitile.reduce sum %square : f32 -> f32
  logitile.yield %loss : f32
}

// One part is, the other is not.
// CHECK-LABEL: logitile.program @lse_and_squares
logitile.loss @lse_and_squares vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %square = arith.mulf %z, %z : f32
  %sum = logitile.reduce sum %square : f32 -> f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %loss = arith.addf %lse, %sum : f32
  logitile.yield %loss : f32
}

// A hyperbolic tangent that the exponent does not contain: it may be steep at low exponents.
// CHECK-LABEL: logitile.program @another_tanh
logitile.loss @another_tanh vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %bounded = math.tanh %z : f32
  %sum = logitile.reduce sum %bounded : f32 -> f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %loss = arith.addf %lse, %sum : f32
  logitile.yield %loss : f32
}

// A kink: the sign of what was rounded.
// CHECK-LABEL: logitile.program @hinge
logitile.loss @hinge vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %size = math.absf %z : f32
  %term = logitile.multiply_no_nan %p, %size : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// Two exponents with separate maxima: a logit may be large in one and small in the other.
// CHECK-LABEL: logitile.program @both_signs
logitile.loss @both_signs vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %minus = arith.negf %z : f32
  %up = logitile.reduce logsumexp %z : f32 -> f32
  %down = logitile.reduce logsumexp %minus : f32 -> f32
  %loss = arith.addf %up, %down : f32
  logitile.yield %loss : f32
}

// The difference of two projections may be small where both are large.
// CHECK-LABEL: logitile.program @two_projections
logitile.loss @two_projections vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %both = arith.addf %z, %t : f32
  %loss = logitile.reduce logsumexp %both : f32 -> f32
  logitile.yield %loss : f32
}

// So may that of a projection and of what the caller gives.
// CHECK-LABEL: logitile.program @dense
logitile.loss @dense vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input dense "t" : f32
  %both = arith.addf %z, %t : f32
  %loss = logitile.reduce logsumexp %both : f32 -> f32
  logitile.yield %loss : f32
}

// A second sweep reads the logits with other weights.
// CHECK-LABEL: logitile.program @two_sweeps
logitile.loss @two_sweeps vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %n = arith.constant 0.01 : f32
  %sum = logitile.reduce sum %z : f32 -> f32
  %mean = arith.mulf %sum, %n : f32
  %distance = arith.subf %z, %mean : f32
  %bounded = math.tanh %distance : f32
  %loss = logitile.reduce logsumexp %bounded : f32 -> f32
  logitile.yield %loss : f32
}

// The exponent goes up on both sides: how it depends on the logits is needed beside it.
// CHECK-LABEL: logitile.program @exponent_of_squares
logitile.loss @exponent_of_squares vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %x = arith.mulf %z, %z : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// A weight that changes within what 16 bits tell apart.
// CHECK-LABEL: logitile.program @steep_weight
logitile.loss @steep_weight vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %steep = arith.constant 200.0 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %scaled = arith.mulf %z, %steep : f32
  %step = math.tanh %scaled : f32
  %term = logitile.multiply_no_nan %p, %step : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// Cross entropy with a probability for each entry: near it, little is left of the difference.
// CHECK-LABEL: logitile.program @prior
logitile.loss @prior vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %term = arith.mulf %q, %z : f32
  %sum = logitile.reduce sum %term : f32 -> f32
  %loss = arith.subf %lse, %sum : f32
  logitile.yield %loss : f32
}

// A factor that makes of distances which f16 holds ones that it does not.
// CHECK-LABEL: logitile.program @small_factor
logitile.loss @small_factor vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %small = arith.constant 1.0e-4 : f32
  %x = arith.mulf %z, %small : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// The first sweep, which keeps the logits, reads the vocabulary alone: the maximum of the second is
// not there yet.
// CHECK-LABEL: logitile.program @after_a_sweep_of_the_vocabulary
logitile.loss @after_a_sweep_of_the_vocabulary vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %u = logitile.input vocab "u" : f32
  %mean = logitile.reduce sum %u : f32 -> f32
  %above = arith.cmpf ogt, %u, %mean : f32
  %x = arith.select %above, %z, %u : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

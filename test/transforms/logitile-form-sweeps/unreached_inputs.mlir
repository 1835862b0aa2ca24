// Inputs whose gradient is zero for every entry, because what is made of them cancels.
// contract: 3 only what is asked
// RUN: %form_sweeps %s | FileCheck %s

// The sum of a softmax is 1, so nothing reaches the inputs: no kernel writes a gradient.
// CHECK-LABEL: logitile.program @cancels
// CHECK: logitile.gradient {
// CHECK: logitile.adjoint logits "z" dense
// CHECK-NOT: logitile.adjoint
logitile.loss @cancels vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z", "d", "v"] {
  %z = logitile.input logits "z" : f32
  %d = logitile.input dense "d" : f32
  %v = logitile.input vocab "v" : f32
  %x = arith.mulf %d, %v : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %one = logitile.reduce sum %p : f32 -> f32
  %lse_z = logitile.reduce logsumexp %z : f32 -> f32
  %loss = arith.addf %lse_z, %one : f32
  logitile.yield %loss : f32
}

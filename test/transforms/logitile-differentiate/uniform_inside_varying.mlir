// The adjoint of a per-token value that is used along the vocabulary is a new reduction over it.
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @entropy
logitile.loss @entropy vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  // CHECK: %[[LSE:.*]] = logitile.reduce logsumexp
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  // CHECK: %[[P:.*]] = math.exp
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %log_p : f32
  %sum = logitile.reduce sum %term : f32 -> f32
  %loss = arith.negf %sum : f32
  // CHECK: logitile.gradient {
  // CHECK:   %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK:   %[[TOTAL:.*]] = logitile.reduce sum
  // CHECK:   logitile.multiply_no_nan %[[P]], %[[TOTAL]] : f32
  // CHECK:   logitile.adjoint logits "z" dense %{{.*}}{{$}}
  logitile.yield %loss : f32
}

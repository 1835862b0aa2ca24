// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps --canonicalize --cse %s | FileCheck %s
// What all parts of a gradient are multiplied with multiplies their sum: parts that cancel leave nothing.

// CHECK-LABEL: logitile.program @chain
// CHECK: logitile.gradient
// CHECK: %[[W:.*]] = logitile.input vocab "w" : f32
// CHECK: %[[DZ:.*]] = logitile.weigh %{{.*}}, %[[W]] : f32
// CHECK-NEXT: logitile.adjoint logits "z" dense %[[DZ]]
logitile.loss @chain vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %w = logitile.input vocab "w" : f32
  %x = arith.mulf %z, %w : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.weigh %p, %log_p : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

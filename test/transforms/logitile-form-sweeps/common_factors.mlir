// RUN: %form_sweeps %s | FileCheck %s
// What all parts of a gradient are multiplied with multiplies their sum: parts that cancel leave
// nothing.

// CHECK-LABEL: logitile.program @chain
// CHECK: logitile.gradient
// CHECK: %[[W:.*]] = logitile.input vocab "w" : f32
// CHECK: %[[DZ:.*]] = logitile.multiply_no_nan %{{.*}}, %[[W]] : f32
// CHECK-NEXT: logitile.adjoint logits "z" dense %[[DZ]]
logitile.loss @chain vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %w = logitile.input vocab "w" : f32
  %x = arith.mulf %z, %w : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %log_p : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// The maximum and the logsumexp cancel in the forward phase, before the gradient of the output and
// the number multiply both: product by product, the logarithm of the sum would be lost beside large
// maxima.
// CHECK-LABEL: logitile.program @large_products
// CHECK: logitile.finish @finish1 forward
// CHECK: results [{{.*}}, "[[REST:v[0-9]+]].high" : f32, "[[REST]].low" : f32] {
// CHECK: %[[SCALED:.*]] = arith.mulf %max0, %{{.*}} : f32
// CHECK: %[[MINUS:.*]] = arith.mulf %max0, %{{.*}} : f32
// CHECK: %[[HIGH:.*]] = arith.addf %[[SCALED]], %[[MINUS]] : f32
// CHECK: logitile.yield {{.*}}, %[[HIGH]], %{{[0-9]+}} : f32
// CHECK: logitile.finish @finish2 backward
// CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
// CHECK: %[[KNOWN:.*]] = logitile.known <@finish1[9]> : f32
// CHECK: %[[FINITE:.*]] = arith.select %{{.*}}, %[[KNOWN]], %{{.*}} : f32
// CHECK: arith.mulf %[[UP]], %[[FINITE]] : f32
logitile.loss @large_products vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %three = arith.constant 3.0 : f32
  %factor = arith.constant 0.3 : f32
  %x = arith.mulf %z, %three : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.multiply_no_nan %p, %log_p : f32
  %sum = logitile.reduce sum %term : f32 -> f32
  %loss = arith.mulf %sum, %factor : f32
  logitile.yield %loss : f32
}

// RUN: logitile-opt %s --pass-pipeline='builtin.module(logitile.loss(logitile-differentiate),logitile-form-sweeps)' | FileCheck %s
// In a gradient every addend stands after the condition of the branch that it comes from: where
// that is not taken, what the zero is multiplied with may be no number.

// CHECK-LABEL: logitile.program @guarded
// CHECK: logitile.gradient {
// CHECK: %[[COUNTS:.*]] = logitile.input token "counts" : i1
// CHECK: %[[ADDEND:.*]] = logitile.multiply_no_nan
// CHECK: %[[GUARDED:.*]] = arith.select %[[COUNTS]], %[[ADDEND]], %cst : f32
// CHECK-NEXT: logitile.adjoint logits "z" dense %[[GUARDED]]
logitile.loss @guarded vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %counts = logitile.input token "counts" : i1
  %scale = logitile.input token "scale" : f32
  %scaled = arith.mulf %z, %scale : f32
  %lse = logitile.reduce logsumexp %scaled : f32 -> f32
  %half = arith.constant 0.5 : f32
  %loss = arith.select %counts, %lse, %half : f32
  logitile.yield %loss : f32
}

// Of several branches any one will do: their factors are one number for each token.
// CHECK-LABEL: logitile.program @two_branches
// CHECK: logitile.gradient {
// CHECK: %[[ANY:.*]] = arith.ori
// CHECK: arith.select %[[ANY]],
// CHECK-NOT: arith.select
// CHECK: logitile.adjoint
logitile.loss @two_branches vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" : i1
  %b = logitile.input token "b" : i1
  %two = arith.constant 2.0 : f32
  %zero = arith.constant 0.0 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %twice = arith.mulf %lse, %two : f32
  %first = arith.select %a, %lse, %zero : f32
  %second = arith.select %b, %twice, %zero : f32
  %loss = arith.addf %first, %second : f32
  logitile.yield %loss : f32
}

// Of a branch inside a branch both conditions count.
// CHECK-LABEL: logitile.program @nested
// CHECK: logitile.gradient {
// CHECK: %[[BOTH:.*]] = arith.andi
// CHECK: arith.select %[[BOTH]],
// CHECK: logitile.adjoint
logitile.loss @nested vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" : i1
  %b = logitile.input token "b" : i1
  %half = arith.constant 0.5 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %inner = arith.select %b, %lse, %half : f32
  %loss = arith.select %a, %half, %inner : f32
  logitile.yield %loss : f32
}

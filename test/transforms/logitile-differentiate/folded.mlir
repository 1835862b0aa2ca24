// RUN: logitile-opt %s --logitile-differentiate | FileCheck %s

// A value that is read along the vocabulary, and is the same for all of it, is recomputed where
// there is one per token.
// CHECK-LABEL: logitile.loss @folded
// CHECK: logitile.gradient {
// CHECK: math.powf %cst{{.*}}, %{{.*}} : f32
// CHECK: logitile.adjoint scalar "s" dense %
logitile.loss @folded vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["s"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input scalar "s" : f32
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %none = arith.mulf %zero, %z : f32
  %even = arith.addf %none, %two : f32
  %power = math.powf %even, %s : f32
  %loss = logitile.reduce sum %power : f32 -> f32
  logitile.yield %loss : f32
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// A loss with its gradient: inputs, reductions and results.
// CHECK-LABEL: logitile.loss @cross_entropy vocab 32000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
logitile.loss @cross_entropy vocab 32000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  // CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  // CHECK-NEXT: %[[TARGET:.*]] = logitile.input token "target" : i32
  %target = logitile.input token "target" : i32
  // CHECK-NEXT: %[[LSE:.*]] = logitile.reduce logsumexp %[[Z]] : f32 -> f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  // CHECK-NEXT: %[[PICKED:.*]] = logitile.gather %[[Z]][%[[TARGET]]] : f32
  %picked = logitile.gather %z[%target] : f32
  // CHECK-NEXT: %[[LOSS:.*]] = arith.subf %[[LSE]], %[[PICKED]] : f32
  %loss = arith.subf %lse, %picked : f32
  // CHECK-NEXT: logitile.gradient {
  logitile.gradient {
    %up = logitile.input cotangent "loss" : f32
    logitile.adjoint logits "z" dense %up
  }
  // CHECK: logitile.yield %[[LOSS]] : f32
  logitile.yield %loss : f32
}

// Outputs may have every scalar type. This loss has no gradient.
// CHECK-LABEL: logitile.loss @three_outputs vocab 7 outputs ["a", "b", "c"] {
logitile.loss @three_outputs vocab 7 outputs ["a", "b", "c"] {
  %z = logitile.input logits "z" : f32
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %z, %zero : f32
  %a = logitile.reduce mean %z : f32 -> f32
  %b = logitile.reduce argmax %z : f32 -> i32
  %c = logitile.reduce any %positive : i1 -> i1
  // CHECK: logitile.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, i32, i1
  logitile.yield %a, %b, %c : f32, i32, i1
}

// The gradient may be of some outputs and with respect to inputs of every kind; an output may have
// an input's name.
// CHECK-LABEL: logitile.loss @names vocab 7 outputs ["loss", "bias"] gradient of ["loss", "bias"] wrt ["z", "bias", "scale"] attributes {note = 1 : i32} {
logitile.loss @names vocab 7 outputs ["loss", "bias"] gradient of ["loss", "bias"] wrt ["z", "bias", "scale"] attributes {note = 1 : i32} {
  %z = logitile.input logits "z" : f32
  %bias = logitile.input vocab "bias" : f32
  %scale = logitile.input scalar "scale" : f32
  %biased = arith.addf %z, %bias : f32
  %sum = logitile.reduce sum %biased : f32 -> f32
  %scaled = arith.mulf %sum, %scale : f32
  logitile.gradient {
    %up = logitile.input cotangent "loss" : f32
    %other = logitile.input cotangent "bias" : f32
    logitile.adjoint logits "z" dense %up
    logitile.adjoint vocab "bias" dense %up
    logitile.adjoint scalar "scale" dense %other
  }
  logitile.yield %scaled, %sum : f32, f32
}

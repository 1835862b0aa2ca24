// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s
// A per-token value in a branch that entries take or not. Where none takes it, the sum of its
// adjoints is 0, and the value's own derivative may be infinite: the product is cut off.
// contract: 3 branch

// CHECK-LABEL: logitile.loss @infinite
// CHECK: logitile.gradient {
// CHECK: %[[COUNT:.*]] = logitile.reduce count
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[COUNT]], %{{.*}} : i32
// CHECK: arith.select %[[ANY]], %{{.*}}, %{{.*}} : f32
logitile.loss @infinite vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" : f32
  %m = logitile.input vocab "m" : i1
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %scaled = arith.mulf %a, %lse : f32
  %x = arith.select %m, %z, %scaled : f32
  %loss = logitile.reduce sum %x : f32 -> f32
  logitile.yield %loss : f32
}

// What stays finite needs no count.
// CHECK-LABEL: logitile.loss @finite
// CHECK-NOT: logitile.reduce count
logitile.loss @finite vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %m = logitile.input vocab "m" : i1
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %x = arith.select %m, %z, %lse : f32
  %loss = logitile.reduce sum %x : f32 -> f32
  logitile.yield %loss : f32
}

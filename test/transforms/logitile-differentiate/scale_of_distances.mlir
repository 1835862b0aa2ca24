// The gradient of a factor is made of what it multiplies as a whole, not of parts that would
// cancel.
// contract: 5 one value
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @scale
// CHECK: %[[DISTANCE:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK: logitile.gradient {
// CHECK: %[[PRODUCT:.*]] = logitile.multiply_no_nan %{{.*}}, %[[DISTANCE]] : f32
// CHECK: logitile.reduce sum %[[PRODUCT]]
// CHECK: logitile.adjoint token "b" dense
logitile.loss @scale vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["b"] {
  %z = logitile.input logits "z" : f32
  %y = logitile.input token "y" : i32
  %b = logitile.input token "b" : f32
  %entry = logitile.gather %z[%y] : f32
  %distance = arith.subf %z, %entry : f32
  %x = arith.mulf %distance, %b : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// An exponent that is known is used instead of the logarithm of a rounded exponential.
// contract: 5 equivalent forms
// RUN: logitile-opt --logitile-canonicalise-loss %s | FileCheck %s

// CHECK-LABEL: logitile.loss @logarithms
logitile.loss @logarithms vocab 7 outputs ["loss", "sum", "root"] {
  // CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  // CHECK: %[[Y:.*]] = logitile.input token "y" : i32
  %y = logitile.input token "y" : i32
  %p = math.exp %z : f32
  // CHECK-DAG: %[[PICKED:.*]] = logitile.gather %[[Z]][%[[Y]]] : f32
  %picked = logitile.gather %p[%y] : f32
  %loss = math.log %picked : f32
  %total = logitile.reduce sum %p : f32 -> f32
  // CHECK-DAG: %[[LSE:.*]] = logitile.reduce logsumexp %[[Z]] : f32 -> f32
  %sum = math.log %total : f32
  // CHECK-DAG: %[[HALF:.*]] = arith.mulf %{{.*}}, %[[PICKED]] : f32
  // CHECK-DAG: %[[ROOT:.*]] = math.exp %[[HALF]] : f32
  %root = math.sqrt %picked : f32
  // CHECK: logitile.yield %[[PICKED]], %[[LSE]], %[[ROOT]]
  logitile.yield %loss, %sum, %root : f32, f32, f32
}

// CHECK-LABEL: logitile.loss @extremes
logitile.loss @extremes vocab 7 outputs ["loss", "best"] {
  // CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  %p = math.exp %z : f32
  // CHECK: %[[M:.*]] = logitile.reduce max %[[Z]] : f32 -> f32
  // CHECK: %[[E:.*]] = math.exp %[[M]] : f32
  %loss = logitile.reduce max %p : f32 -> f32
  // CHECK: %[[A:.*]] = logitile.reduce argmax %[[Z]] : f32 -> i32
  %best = logitile.reduce argmax %p : f32 -> i32
  // CHECK: logitile.yield %[[E]], %[[A]]
  logitile.yield %loss, %best : f32, i32
}

// What an index that may be ignored picks is NaN where it is: the exponent is known there as well.
// CHECK-LABEL: logitile.loss @selected
logitile.loss @selected vocab 7 outputs ["loss"] {
  // CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  %y = logitile.input token "y" : i32
  %valid = logitile.input token "valid" : i1
  %nan = arith.constant 0x7FC00000 : f32
  %p = math.exp %z : f32
  // CHECK: %[[PICKED:.*]] = logitile.gather %[[Z]]
  %picked = logitile.gather %p[%y] : f32
  // CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[PICKED]], %{{.*}} : f32
  %chosen = arith.select %valid, %picked, %nan : f32
  %loss = math.log %chosen : f32
  // CHECK: logitile.yield %[[S]]
  logitile.yield %loss : f32
}

// A power of 0 gives 1, also of an exponential that is 0.
// CHECK-LABEL: logitile.loss @power
logitile.loss @power vocab 7 outputs ["loss"] {
  // CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  // CHECK: %[[U:.*]] = logitile.input token "u" : f32
  %u = logitile.input token "u" : f32
  %p = math.exp %z : f32
  // CHECK: %[[E:.*]] = logitile.multiply_no_nan %[[U]], %[[Z]] : f32
  // CHECK: math.exp %[[E]] : f32
  %q = math.powf %p, %u : f32
  %loss = logitile.reduce sum %q : f32 -> f32
  logitile.yield %loss : f32
}

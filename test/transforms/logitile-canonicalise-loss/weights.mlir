// A weight of 0 wins in a product: exponentials, sigmoids, and what products, quotients, powers and
// negations make of them.
// contract: 3 multiply_no_nan
// RUN: logitile-opt --logitile-canonicalise-loss %s | FileCheck %s

// CHECK-LABEL: logitile.loss @product
logitile.loss @product vocab 7 outputs ["loss"] {
  // CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  // CHECK: %[[U:.*]] = logitile.input token "u" : f32
  %u = logitile.input token "u" : f32
  // CHECK: %[[P:.*]] = logitile.sigmoid %[[Z]] : f32
  %p = logitile.sigmoid %z : f32
  %scaled = arith.mulf %p, %u : f32
  // CHECK: %[[REST:.*]] = arith.mulf %[[U]], %[[Z]] : f32
  // CHECK: %[[W:.*]] = logitile.multiply_no_nan %[[P]], %[[REST]] : f32
  %weighed = arith.mulf %scaled, %z : f32
  // CHECK: logitile.reduce sum %[[W]]
  %loss = logitile.reduce sum %weighed : f32 -> f32
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.loss @constant
logitile.loss @constant vocab 7 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %two = arith.constant 2.0 : f32
  // CHECK: %[[P:.*]] = math.exp
  %p = math.exp %z : f32
  // CHECK: arith.mulf %{{.*}}, %[[P]] : f32
  // CHECK-NOT: logitile.multiply_no_nan
  %q = arith.mulf %two, %p : f32
  %loss = logitile.reduce sum %q : f32 -> f32
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.loss @quotient
logitile.loss @quotient vocab 7 outputs ["loss"] {
  // CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  // CHECK: %[[T:.*]] = logitile.input logits "t" : f32
  %t = logitile.input logits "t" : f32
  %p = math.exp %z : f32
  // CHECK: %[[N:.*]] = arith.negf %[[Z]] : f32
  // CHECK: %[[R:.*]] = math.exp %[[N]] : f32
  // CHECK: logitile.multiply_no_nan %[[R]], %[[T]] : f32
  %q = arith.divf %t, %p : f32
  %loss = logitile.reduce sum %q : f32 -> f32
  logitile.yield %loss : f32
}

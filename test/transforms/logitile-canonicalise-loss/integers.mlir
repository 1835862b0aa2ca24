// Integers saturate where operands may be large enough; an index that is computed is exact.
// RUN: logitile-opt --logitile-canonicalise-loss %s | FileCheck %s

// CHECK-LABEL: logitile.loss @sum
logitile.loss @sum vocab 7 outputs ["loss"] {
  // CHECK: %[[A:.*]] = logitile.input token "a" : i32
  %a = logitile.input token "a" : i32
  %one = arith.constant 1 : i32
  // CHECK-DAG: %[[WRAPPED:.*]] = arith.addi %[[A]], %[[ONE:.*]] : i32
  // CHECK-DAG: %[[BACK:.*]] = arith.cmpi slt, %[[WRAPPED]], %[[A]] : i32
  // CHECK-DAG: %[[MOST:.*]] = arith.constant 2147483647 : i32
  // CHECK: %[[S:.*]] = arith.select %[[BACK]], %[[MOST]], %[[WRAPPED]] : i32
  // CHECK: logitile.yield %[[S]]
  %sum = arith.addi %a, %one : i32
  logitile.yield %sum : i32
}

// CHECK-LABEL: logitile.loss @small
logitile.loss @small vocab 7 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %best = logitile.reduce argmax %z : f32 -> i32
  %one = arith.constant 1 : i32
  // CHECK: arith.addi
  // CHECK-NOT: arith.select
  // CHECK: logitile.yield
  %sum = arith.addi %best, %one : i32
  logitile.yield %sum : i32
}

// CHECK-LABEL: logitile.loss @index
logitile.loss @index vocab 7 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  // CHECK: %[[A:.*]] = logitile.input token "a" : i32
  %a = logitile.input token "a" : i32
  %three = arith.constant 3 : i32
  %tripled = arith.muli %three, %a : i32
  // CHECK-DAG: %[[WRAPPED:.*]] = arith.muli
  // CHECK-DAG: %[[EXACT:.*]] = arith.mulf
  // CHECK: arith.cmpf oge, %[[EXACT]]
  // CHECK: arith.cmpf ole, %[[EXACT]]
  // CHECK: logitile.gather
  %loss = logitile.gather %z[%tripled] : f32
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.loss @differentiated
logitile.loss @differentiated vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  // CHECK: %[[P:.*]] = math.exp
  %p = math.exp %z : f32
  // A gradient is there already: the loss stays as it is.
  // CHECK: arith.mulf %[[P]], %[[P]] : f32
  %q = arith.mulf %p, %p : f32
  %loss = logitile.reduce sum %q : f32 -> f32
  logitile.gradient {
    logitile.adjoint logits "z"
  }
  logitile.yield %loss : f32
}

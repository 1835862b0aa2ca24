// Lists that are read: what is one per token collects the gradient of every place, and picks leave
// terms that are lists.
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @weighted
logitile.loss @weighted vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  // CHECK: %[[INDICES:.*]] = logitile.input token "indices" places 64 : i32
  %indices = logitile.input token "indices" places 64 : i32
  // CHECK: %[[WEIGHTS:.*]] = logitile.input token "weights" places 64 : f32
  %weights = logitile.input token "weights" places 64 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %picked = logitile.gather %z[%indices] : f32
  %distance = arith.subf %lse, %picked : f32
  %term = arith.mulf %weights, %distance : f32
  %loss = logitile.sum_list %term : f32
  // CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK: %[[EACH:.*]] = arith.mulf %[[WEIGHTS]], %[[UP]] : f32
  // CHECK: %[[ALL:.*]] = logitile.sum_list %[[EACH]] : f32
  // CHECK: %[[DENSE:.*]] = logitile.multiply_no_nan %{{.*}}, %[[ALL]] : f32
  // CHECK: %[[MINUS:.*]] = arith.negf %[[EACH]] : f32
  // CHECK: logitile.adjoint logits "z" dense %[[DENSE]] sparse [%[[INDICES]] -> %[[MINUS]]]
  logitile.yield %loss : f32
}

// The sum of equal terms is a product; their gradients are terms all the same.
// CHECK-LABEL: logitile.loss @plain
logitile.loss @plain vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %indices = logitile.input token "indices" places 64 : i32
  %t = logitile.input token "t" : f32
  %picked = logitile.gather %z[%indices] : f32
  %scaled = arith.mulf %t, %picked : f32
  %sum = logitile.sum_list %scaled : f32
  // CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK: %[[ONE:.*]] = arith.mulf %{{.*}}, %[[UP]] : f32
  // CHECK: logitile.adjoint logits "z" sparse [%{{.*}} -> %[[ONE]]]
  logitile.yield %sum : f32
}

// A list of floats has a gradient that is a list; a Vocab input that is picked from has terms that
// are lists.
// CHECK-LABEL: logitile.loss @of_lists
logitile.loss @of_lists vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["weights", "bias"] {
  %bias = logitile.input vocab "bias" : f32
  // CHECK: %[[INDICES:.*]] = logitile.input token "indices" places 64 : i32
  %indices = logitile.input token "indices" places 64 : i32
  %weights = logitile.input token "weights" places 64 : f32
  // CHECK: %[[PICKED:.*]] = logitile.gather
  %picked = logitile.gather %bias[%indices] : f32
  %term = arith.mulf %weights, %picked : f32
  %loss = logitile.sum_list %term : f32
  // CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK-DAG: %[[OF_WEIGHTS:.*]] = arith.mulf %[[PICKED]], %[[UP]] : f32
  // CHECK-DAG: %[[OF_BIAS:.*]] = arith.mulf %{{.*}}, %[[UP]] : f32
  // CHECK-DAG: logitile.adjoint token "weights" places 64 dense %{{.*}}
  // CHECK-DAG: logitile.adjoint vocab "bias" sparse [%[[INDICES]] -> %{{.*}}]
  logitile.yield %loss : f32
}

// Entries at the indices of largest entries leave terms there; the indices have no gradient.
// CHECK-LABEL: logitile.loss @largest
logitile.loss @largest vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  // CHECK: %[[INDICES:.*]] = logitile.reduce argtop %{{.*}} places 8 : f32 -> i32
  %indices = logitile.reduce argtop %z places 8 : f32 -> i32
  // CHECK: %[[BEST:.*]] = logitile.gather %{{.*}}[%[[INDICES]]] : f32
  %best = logitile.gather %z[%indices] : f32
  %square = arith.mulf %best, %best : f32
  %number = arith.sitofp %indices : i32 to f32
  %term = arith.addf %square, %number : f32
  %loss = logitile.sum_list %term : f32
  // CHECK: logitile.adjoint logits "z" sparse [%[[INDICES]] -> %{{.*}}]
  logitile.yield %loss : f32
}

// RUN: %roundtrip %s | FileCheck %s
// RUN: %roundtrip --mlir-print-op-generic %s -o /dev/null

// CHECK-LABEL: logitile.loss @cross_entropy vocab 32000 outputs ["loss"] gradient of ["loss"] wrt ["z"]
logitile.loss @cross_entropy vocab 32000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  // CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
  %z = logitile.input logits "z" : f32
  // CHECK: %[[T:.*]] = logitile.input token "target" : i32
  %target = logitile.input token "target" : i32
  // CHECK: %[[LSE:.*]] = logitile.reduce logsumexp %[[Z]] : f32 -> f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  // CHECK: logitile.pick %[[Z]][%[[T]]] : f32
  %picked = logitile.pick %z[%target] : f32
  %loss = arith.subf %lse, %picked : f32
  logitile.gradient {
    %up = logitile.input upstream "loss" : f32
    %x = arith.subf %z, %lse : f32
    %p = math.exp %x : f32
    %dense = logitile.weigh %p, %up : f32
    %down = arith.negf %up : f32
    // CHECK: logitile.adjoint logits "z" dense %{{.*}} rows [%[[T]] -> %{{.*}}]
    logitile.adjoint logits "z" dense %dense rows [%target -> %down]
  }
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.loss @two_outputs vocab 7 outputs ["a", "b"]
// CHECK-NOT: gradient
logitile.loss @two_outputs vocab 7 outputs ["a", "b"] {
  %z = logitile.input logits "z" : f32
  // CHECK: logitile.input token "k"[3] : i32
  %k = logitile.input token "k"[3] : i32
  %a = logitile.reduce mean %z : f32 -> f32
  %b = logitile.reduce argmax %z : f32 -> i32
  logitile.yield %a, %b : f32, i32
}

// What a sweep computes for a reduction says where the reduction stands and the products below it,
// beside where its own operands stand. Two reductions that share a running maximum are both told.
// RUN: logitile-opt %s --logitile-form-sweeps --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: logitile.sweep
// CHECK: update
// CHECK: math.exp {{.*}} loc(fused["loss.py":1:1, "loss.py":4:1])
// CHECK: math.exp {{.*}} loc(fused["loss.py":2:1, "loss.py":5:1, "loss.py":3:1])
// CHECK: merge
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.cmpf ogt, {{.*}} loc(fused["loss.py":1:1, "loss.py":4:1, "loss.py":5:1, "loss.py":3:1])
// CHECK-NEXT: arith.select {{.*}} loc(fused[{{.*}}"loss.py":4:1, "loss.py":5:1, "loss.py":3:1])
// CHECK: math.exp {{.*}} loc({{.*}}"loss.py":4:1
logitile.loss @two vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32 loc("loss.py":1:1)
  %quarter = arith.constant 0.25 : f32 loc("loss.py":2:1)
  %warm = arith.mulf %z, %quarter : f32 loc("loss.py":3:1)
  %a = logitile.reduce logsumexp %z : f32 -> f32 loc("loss.py":4:1)
  %b = logitile.reduce logsumexp %warm : f32 -> f32 loc("loss.py":5:1)
  %loss = arith.addf %a, %b : f32 loc("loss.py":6:1)
  logitile.yield %loss : f32
}

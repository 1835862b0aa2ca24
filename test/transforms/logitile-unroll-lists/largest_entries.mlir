// Indices of largest entries are read place by place; the list itself stays, for outputs and for
// these places.
// RUN: logitile-opt --logitile-unroll-lists %s | FileCheck %s
// CHECK-LABEL: logitile.loss @best
// CHECK: %[[LIST:.*]] = logitile.reduce argtop %{{.*}} places 2 : f32 -> i32
// CHECK-DAG: %[[A:.*]] = logitile.gather %[[LIST]][%c0_i32] : i32
// CHECK-DAG: %[[B:.*]] = logitile.gather %[[LIST]][%c1_i32] : i32
// CHECK-DAG: %[[ZA:.*]] = logitile.gather %{{.*}}[%[[A]]] : f32
// CHECK-DAG: %[[ZB:.*]] = logitile.gather %{{.*}}[%[[B]]] : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[ZA]], %[[ZB]] : f32
// CHECK-NOT: sum_list
// CHECK: logitile.yield %[[SUM]], %[[LIST]], %{{.*}} : f32, i32, f32
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 64, workspace = 10000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1,
    slice = #logitile.slice<columns = 50, part = finish, sweep = 0>>} {
  logitile.loss @best vocab 1000 outputs ["loss", "indices", "values"] {
    %z = logitile.input logits "z" : f32
    %values = logitile.reduce top %z places 900 : f32 -> f32
    %indices = logitile.reduce argtop %z places 2 : f32 -> i32
    %entries = logitile.gather %z[%indices] : f32
    %loss = logitile.sum_list %entries : f32
    logitile.yield %loss, %indices, %values : f32, i32, f32
  }
}

// In slices of the vocabulary, single picks are row state that is merged: what is done with a list
// is written for each place.
// RUN: logitile-opt --logitile-unroll-lists %s | FileCheck %s
// CHECK-LABEL: logitile.loss @weighted
// CHECK-DAG: %[[A:.*]] = logitile.input token "indices"[0] : i32
// CHECK-DAG: %[[B:.*]] = logitile.input token "indices"[1] : i32
// CHECK-DAG: %[[C:.*]] = logitile.input token "indices"[2] : i32
// CHECK-NOT: places
// CHECK: %[[ZA:.*]] = logitile.gather %{{.*}}[%[[A]]] : f32
// CHECK: %[[ZB:.*]] = logitile.gather %{{.*}}[%[[B]]] : f32
// CHECK: %[[ZC:.*]] = logitile.gather %{{.*}}[%[[C]]] : f32
// CHECK: %[[TA:.*]] = arith.mulf %{{.*}}, %[[ZA]] : f32
// CHECK: %[[TB:.*]] = arith.mulf %{{.*}}, %[[ZB]] : f32
// CHECK: %[[TC:.*]] = arith.mulf %{{.*}}, %[[ZC]] : f32
// CHECK: %[[AB:.*]] = arith.addf %[[TA]], %[[TB]] : f32
// CHECK: %[[ALL:.*]] = arith.addf %[[AB]], %[[TC]] : f32
// CHECK-NEXT: logitile.yield %[[ALL]] : f32
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 64, workspace = 10000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1,
    slice = #logitile.slice<columns = 50, part = finish, sweep = 0>>} {
  logitile.loss @weighted vocab 100 outputs ["loss"] {
    %z = logitile.input logits "z" : f32
    %t = logitile.input token "t" : f32
    %indices = logitile.input token "indices" places 3 : i32
    %picked = logitile.gather %z[%indices] : f32
    %term = arith.mulf %t, %picked : f32
    %loss = logitile.sum_list %term : f32
    logitile.yield %loss : f32
  }
}

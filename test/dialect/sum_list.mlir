// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// Lists are read, computed with elementwise, used as indices of picks, and summed. A token's
// value is combined with each place.
// CHECK-LABEL: logitile.loss @sum_of_entries
logitile.loss @sum_of_entries vocab 100 outputs ["loss", "entries"] {
  %z = logitile.input logits "z" : f32
  // CHECK: %[[INDICES:.*]] = logitile.input token "candidates" places 4096 : i32
  %indices = logitile.input token "candidates" places 4096 : i32
  %scale = logitile.input scalar "scale" : f32
  // CHECK: %[[ENTRIES:.*]] = logitile.gather %{{.*}}[%[[INDICES]]] : f32
  %entries = logitile.gather %z[%indices] : f32
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[ENTRIES]], %{{.*}} : f32
  %scaled = arith.mulf %entries, %scale : f32
  // CHECK: logitile.sum_list %[[SCALED]] : f32
  %loss = logitile.sum_list %scaled : f32
  logitile.yield %loss, %scaled : f32, f32
}

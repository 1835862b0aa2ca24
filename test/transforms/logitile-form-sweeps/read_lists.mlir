// Lists that are read: a sweep picks at their indices, and finishes go through their places. What
// is one per token is known before.
// RUN: %form_sweeps %s | FileCheck %s

// One sweep makes the logsumexp and picks; the loss is a sum after it.
// CHECK-LABEL: logitile.program @distances
// CHECK-SAME: outputs [#logitile.output<"loss" : f32 is <@finish1_1[0]>>, #logitile.output<"distances" : f32 is <@finish1_lists64[0]>>] indices ["indices"]
// CHECK: logitile.sweep @forward0 forward state ["max{{.*}}" : f32, "exp{{.*}}.high" : f32, "exp{{.*}}.low" : f32] picks [#logitile.pick<"z" at "indices" places 64>] init {
// CHECK: logitile.finish @finish1 forward of @forward0 results
// CHECK: logitile.finish @finish1_sums64 forward places 64 summed results ["{{.*}}" : f32] {
// CHECK: logitile.picked <@forward0[0]> : f32
// CHECK: logitile.finish @finish1_lists64 forward places 64 results ["distances" : f32] {
// CHECK: logitile.known <@finish1[0]> : f32
// CHECK: logitile.picked <@forward0[0]> : f32
// CHECK: logitile.finish @finish1_1 forward results ["loss" : f32] {
// CHECK-NEXT: %[[SUM:.*]] = logitile.known <@finish1_sums64[0]> : f32
// CHECK-NEXT: logitile.yield %[[SUM]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @distances vocab 100 outputs ["loss", "distances"] {
  %z = logitile.input logits "z" : f32
  %indices = logitile.input token "indices" places 64 : i32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %picked = logitile.gather %z[%indices] : f32
  %distance = arith.subf %lse, %picked : f32
  %loss = logitile.sum_list %distance : f32
  logitile.yield %loss, %distance : f32, f32
}

// A sum of a list that needs no logits is known before the first sweep, which may use it; picks of
// one list of indices are one.
// CHECK-LABEL: logitile.program @scaled
// CHECK: logitile.finish @finish0_sums8 prologue places 8 summed
// CHECK: logitile.finish @finish0_1 prologue results
// CHECK: logitile.sweep @forward0 forward state {{.*}} picks [#logitile.pick<"z" at "indices" places 8>] init {
// CHECK-NOT: picks
logitile.loss @scaled vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %indices = logitile.input token "indices" places 8 : i32
  %weights = logitile.input token "weights" places 8 : f32
  %total = logitile.sum_list %weights : f32
  %cosine = math.cos %total : f32
  %scaled = arith.mulf %z, %cosine : f32
  %positive = math.tanh %scaled : f32
  %lse = logitile.reduce logsumexp %positive : f32 -> f32
  %a = logitile.gather %scaled[%indices] : f32
  %b = logitile.gather %z[%indices] : f32
  %product = arith.mulf %a, %b : f32
  %sum = logitile.sum_list %product : f32
  %loss = arith.addf %lse, %sum : f32
  logitile.yield %loss : f32
}

// What is the same at all places is written to each of them, where a list is asked for.
// CHECK-LABEL: logitile.program @indices_themselves
// CHECK: logitile.finish @finish0_lists5 prologue places 5 results ["columns" : i32] {
// CHECK-NEXT: %[[INDICES:.*]] = logitile.input token "indices" places 5 : i32
// CHECK-NEXT: logitile.yield %[[INDICES]] : i32
logitile.loss @indices_themselves vocab 100 outputs ["columns"] {
  %column = logitile.column : i32
  %indices = logitile.input token "indices" places 5 : i32
  %columns = logitile.gather %column[%indices] : i32
  logitile.yield %columns : i32
}

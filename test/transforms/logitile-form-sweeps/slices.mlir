// A slice of the vocabulary: what other slices may have is caught by sweeps, and nothing is left to
// sum with the gradient.
// RUN: %form_sweeps %s | FileCheck %s

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = early, tokens = 8,
    workspace = 1000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1, slice = <columns = 40, part = finish, sweep = 0>>} {

// Entries of inputs in memory are picked like those of logits; a bool is kept as a number.
// CHECK-LABEL: logitile.program @entries vocab 100 columns 40
// CHECK: logitile.sweep @forward0 forward state [{{.*}}"pick2" : f32, "pick3" : f32, "pick4" : i32] init {
// CHECK: } update {
// CHECK: %[[SPECIAL:.*]] = logitile.input vocab "special" : i1
// CHECK: %[[NUMBER:.*]] = arith.extui %[[SPECIAL]] : i1 to i32
// CHECK: arith.select %{{.*}}, %[[NUMBER]], %pick4 : i32
// CHECK-NOT: logitile.gather
// CHECK: logitile.finish @finish1 forward of @forward0 results ["loss" : f32]
logitile.loss @entries vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input token "t" : i32
  %importance = logitile.input vocab "importance" : f32
  %special = logitile.input vocab "special" : i1
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %picked = logitile.gather %z[%t] : f32
  %nll = arith.subf %lse, %picked : f32
  %weight = logitile.gather %importance[%t] : f32
  %isSpecial = logitile.gather %special[%t] : i1
  %weighted = arith.mulf %nll, %weight : f32
  %loss = arith.select %isSpecial, %weighted, %nll : f32
  logitile.yield %loss : f32
}

// The sum of the gradient of a temperature joins the sweep, where the whole vocabulary would have
// it fused.
// CHECK-LABEL: logitile.program @temperature vocab 100 columns 40
// CHECK-COUNT-1: logitile.sweep
// CHECK-NOT: logitile.sweep
// CHECK: logitile.finish @{{.*}} backward results ["gradient.s" : f32]
logitile.loss @temperature vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["s"] {
  %z = logitile.input logits "z" : f32
  %s = logitile.input scalar "s" : f32
  %x = arith.mulf %z, %s : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}
}

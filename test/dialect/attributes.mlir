// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// A request is an attribute of the module. Attributes print words, never numbers.
// CHECK: module attributes {
// CHECK-SAME: logitile.request = #logitile.request<projections = [<"student", hidden = 1024, element = bf16>, <"teacher", hidden = 4096, element = f32>],
// CHECK-SAME: dense = {p = bf16}, gradients = [<hidden of "student">, <weight of "student" : f32>, <input of "bias">],
// CHECK-SAME: mode = split, tokens = 4096, workspace = 268435456, chunks = 0, accumulate = true, target = "cpu:avx512_bf16", threads = 8>}
module attributes {logitile.request = #logitile.request<
    projections = [#logitile.projection<"student", hidden = 1024, element = bf16>, #logitile.projection<"teacher", hidden = 4096, element = f32>],
    dense = {p = bf16}, gradients = [<hidden of "student">, <weight of "student" : f32>, <input of "bias">],
    mode = split, tokens = 4096, workspace = 268435456, chunks = 0, accumulate = true, target = "cpu:avx512_bf16", threads = 8>} {
  // CHECK: func.func private @words() attributes {again = #logitile<accumulate vocab_splits>, axis = #logitile<axis tokens>, combiner = #logitile<combiner logsumexp>,
  // CHECK-SAME: dim = #logitile.dim<"TM">, kind = #logitile<input_kind vocab>, layout = #logitile<layout row_panels>,
  // CHECK-SAME: mode = #logitile<mode early>, output = #logitile.output<"best" : i32 is <@f[0]>>, phase = #logitile<phase fused>,
  // CHECK-SAME: projection = #logitile.projection<"z", hidden = 8, element = f16>, scope = #logitile<scope saved>, term_action = #logitile<term_action extract>}
  func.func private @words() attributes {
    again = #logitile<accumulate vocab_splits>, axis = #logitile<axis tokens>, combiner = #logitile<combiner logsumexp>, dim = #logitile.dim<"TM">,
    kind = #logitile<input_kind vocab>, layout = #logitile<layout row_panels>, mode = #logitile<mode early>,
    output = #logitile.output<"best" : i32 is <@f[0]>>, projection = #logitile.projection<"z", hidden = 8, element = f16>, phase = #logitile<phase fused>,
    scope = #logitile<scope saved>, term_action = #logitile<term_action extract>}

  // Operands that are rounded while they are packed say what they are in memory; where nothing is
  // rounded, nothing is said.
  // CHECK: same = #logitile.projection<"z", hidden = 8, element = bf16>,
  // CHECK-SAME: teacher = #logitile.projection<"z", hidden = 8, element = bf16, memory = [f32, f32]>,
  // CHECK-SAME: weight = #logitile.projection<"z", hidden = 8, element = f16, memory = [f16, f32]>}
  func.func private @memory() attributes {
    same = #logitile.projection<"z", hidden = 8, element = bf16, memory = [bf16, bf16]>,
    teacher = #logitile.projection<"z", hidden = 8, element = bf16, memory = [f32, f32]>,
    weight = #logitile.projection<"z", hidden = 8, element = f16, memory = [f16, f32]>}

  // What only joins states has no projection.
  // CHECK: slice = #logitile.request<projections = [], {{.*}} threads = 2, slice = <columns = 40, part = merge, sweep = 1>>
  func.func private @slice() attributes {
    slice = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward, tokens = 8, workspace = 1,
        chunks = 0, accumulate = false, target = "cpu:avx2", threads = 2, slice = #logitile.slice<columns = 40, part = merge, sweep = 1>>}

  // CHECK: tiles = #logitile.request<projections = [], {{.*}} threads = 2, tiles = {TM = 64 : i64, TN = 32 : i64}>
  func.func private @tiles() attributes {
    tiles = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward, tokens = 8, workspace = 1,
        chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 2, tiles = {TM = 64, TN = 32}>}
}

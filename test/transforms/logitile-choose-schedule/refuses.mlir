// The smallest budget that works is named.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 3000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | not %schedule 2>&1 | FileCheck %s --check-prefix=BUDGET
// BUDGET: <stdin>:6:3: error: 'logitile.program' op needs a workspace of at least 5.5 MiB (5721984 bytes) for 4096 tokens, but 'workspace' is 2.9 MiB (3000000 bytes)
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 5721984, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=ENOUGH
// ENOUGH: logitile.loop tokens 16 {

// RUN: %refused --logitile-choose-schedule %s

// expected-error @below {{has no 'logitile.request': target and budget are unknown}}
module {
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cpu:avx9", threads = 1>} {
  // expected-error @below {{cannot be scheduled: there is no target 'cpu:avx9'; 'cpu:' has portable, avx2, avx512, avx512_bf16}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cuda:sm_87", threads = 1>} {
  // expected-error @below {{cannot be scheduled: there is no target 'cuda:sm_87'; 'cuda:' has sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120; with a chip sm_80:a100, sm_86:rtx3090, sm_89:l40s, sm_89:rtx4090, sm_90:h100, sm_90:h200, sm_90a:h100, sm_90a:h200, sm_100:b200, sm_120:rtx5090}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [<hidden of "z">],
    mode = early, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {
  // expected-error @below {{reads logits 't', which the request has no projection for}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
    logitile.gradient {
      %t = logitile.input logits "t" : f32
      logitile.adjoint logits "t" dense %t
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {
  // expected-error @below {{has a schedule already}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
    logitile.schedule tokens [0, 8) vocab_split 5 stored 0 {
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1, tiles = {TX = 64}>} {
  // expected-error @below {{there is no tile size 'TX'; there are TM, TN, TD, TKproject, TKhidden, TKweight}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1, tiles = {TM = 40}>} {
  // expected-error @below {{tile size 'TM' is 40; 'cuda:sm_80' takes multiples of 32}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1, tiles = {TKweight = 24}>} {
  // expected-error @below {{tile size 'TKweight' is 24; 'cuda:sm_80' takes multiples of 16}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1, tiles = {TD = 24}>} {
  // expected-error @below {{tile size 'TD' is 24; 'cpu:avx2' takes multiples of 16}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [<input of "w" : f32>],
    mode = early, tokens = 8, workspace = 1000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {
  // expected-error @below {{makes gradients but has no projection}}
  logitile.program @p vocab 5 outputs [] indices [] checked [] {
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu --split-input-file --verify-diagnostics
// The instruction set must come from somewhere, and be one of a CPU.

// expected-error @+1 {{has no attribute 'logitile.request', which names the target}}
module {
}

// -----

// expected-error @+1 {{is for target 'cuda:sm_80'; expected a target such as cpu:avx2}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1,
    workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
}

// RUN: sed 's/$PART/sweep, sweep = 3/' %S/Inputs/two_sweeps.mlir | not logitile-opt --logitile-slice-program 2>&1 | FileCheck %s --check-prefix=SWEEP
// SWEEP: error: 'logitile.program' op has 3 sweeps, but the slice is to run sweep 3

// RUN: %refused --logitile-slice-program %s

// Without a slice nothing happens.
module {
  logitile.program @whole vocab 5 outputs [] indices [] checked [] {
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = early, tokens = 8,
    workspace = 1000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1, slice = <columns = 4, part = gradient, sweep = 0>>} {
  // expected-error @below {{has fused sweep @fused, whose sums no slice can merge}}
  logitile.program @p vocab 5 columns 4 outputs [] indices [] checked [] {
    logitile.sweep @fused fused state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      logitile.yield %sum : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      logitile.yield %a : f32
    }
  }
}

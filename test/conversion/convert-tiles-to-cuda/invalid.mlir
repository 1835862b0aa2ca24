// RUN: logitile-opt %s --convert-tiles-to-cuda --split-input-file --verify-diagnostics
// What kernels may not ask of this target.

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @packed(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<64x32xf32> from @w,
                          %z: !logitile.view<?x64xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (64, 64) {
      // expected-error @+1 {{'hidden' is '!logitile.view<?x32xf32, row_panels>'; expected a strided view of 2 dimensions}}
      %tile = logitile.project %x, %w at [%row, %column] by 32 using mma_sync : !logitile.view<?x32xf32, row_panels>, !logitile.view<64x32xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @depth(%n: index from tokens, %x: !logitile.view<?x32xf32> from @x, %w: !logitile.view<64x32xf32> from @w,
                         %z: !logitile.view<?x64xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (64, 64) {
      // expected-error @+1 {{goes 'by' 8; tensor cores take 16 steps at a time}}
      %tile = logitile.project %x, %w at [%row, %column] by 8 using mma_sync : !logitile.view<?x32xf32>, !logitile.view<64x32xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  // expected-error @+1 {{has tiles of 40 x 64; expected multiples of 32 rows, whose states whole warps have, and of 16 columns, as tensor cores do}}
  logitile.kernel @rows(%n: index from tokens, %x: !logitile.view<?x32xf32> from @x, %w: !logitile.view<64x32xf32> from @w,
                        %z: !logitile.view<?x64xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (40, 64) {
      %tile = logitile.project %x, %w at [%row, %column] by 32 using mma_sync : !logitile.view<?x32xf32>, !logitile.view<64x32xf32> -> !logitile.tile<40x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<40x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @large(%n: index from tokens, %x: !logitile.view<?x1024xf32> from @x, %w: !logitile.view<64x1024xf32> from @w,
                         %z: !logitile.view<?x64xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (64, 64) {
      // expected-error @+1 {{has blocks of 786432 bytes; 2 of them do not fit the 166912 bytes of shared memory}}
      %tile = logitile.project %x, %w at [%row, %column] by 1024 using mma_sync : !logitile.view<?x1024xf32>, !logitile.view<64x1024xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

// -----

// expected-error @+1 {{has no attribute 'logitile.request', which names the target}}
module {
}

// -----

// expected-error @+1 {{is for target 'cpu:avx2'; expected a target such as cuda:sm_80}}
module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {
}

// -----

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @line(%n: index from tokens, %x: !logitile.view<?xf32> from @x) {
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      // expected-error @+1 {{copies memory of one dimension; CUDA kernels copy rows}}
      logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @column(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %y: !logitile.view<?x1xf32> from @y) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      // expected-error @+1 {{copies memory of one dimension; CUDA kernels copy rows}}
      logitile.store %tile to %y at [%row, %zero] : !logitile.tile<64x1xf32> to !logitile.view<?x1xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @column_of_a_matrix(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %out: !logitile.view<?x8xf32> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      %twice = logitile.map(%tile) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
      ^bb0(%value: f32):
        %sum = arith.addf %value, %value : f32
        logitile.yield %sum : f32
      }
      // expected-error @+1 {{stores a column to '!logitile.view<?x8xf32>'; CUDA kernels store columns to views of 1 dimension and to row states}}
      logitile.store %twice to %out at [%row, %zero] : !logitile.tile<64x1xf32> to !logitile.view<?x8xf32>
    }
  }
}

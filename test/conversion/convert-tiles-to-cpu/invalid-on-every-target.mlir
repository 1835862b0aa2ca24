// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 --split-input-file --verify-diagnostics
// RUN: logitile-opt %s --convert-tiles-to-cuda --split-input-file --verify-diagnostics
// What no target takes: the checks are there once.

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @map_of_a_vector(%n: index from tokens, %m: !logitile.view<?xi32> from @map, %x: !logitile.view<?xf32> from @x,
                                    %out: !logitile.view<?xf32> from @out) {
    scf.forall (%row) = (0) to (%n) step (64) {
      // expected-error @+1 {{goes through a map to '!logitile.view<?xf32>'; only strided views of 2 dimensions have one}}
      %tile = logitile.load %x at [%row] through %m : !logitile.view<?xf32>, !logitile.view<?xi32> -> !logitile.tile<64x1xf32>
      logitile.store %tile to %out at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @map_of_columns(%n: index from tokens, %m: !logitile.view<?xi32> from @map, %x: !logitile.view<?x64xf32> from @x,
                                   %out: !logitile.view<?x64xf32, column_major> from @out) {
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (64, 64) {
      %tile = logitile.load %x at [%row, %column] : !logitile.view<?x64xf32> -> !logitile.tile<64x64xf32>
      // expected-error @+1 {{goes through a map to '!logitile.view<?x64xf32, column_major>'; only strided views of 2 dimensions have one}}
      logitile.store %tile to %out at [%row, %column] through %m : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32, column_major>, !logitile.view<?xi32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @sum_of_columns(%n: index from tokens, %x: !logitile.view<?x64xf32, column_major> from @x, %out: !logitile.view<1x64xf32> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%column) = (0) to (64) step (64) {
      // expected-error @+1 {{sums rows of '!logitile.view<?x64xf32, column_major>'; expected a strided view}}
      %sum = logitile.sum_rows %x at %column below %n : !logitile.view<?x64xf32, column_major> -> !logitile.tile<1x64xf32>
      logitile.store %sum to %out at [%zero, %column] : !logitile.tile<1x64xf32> to !logitile.view<1x64xf32>
    }
  }
}

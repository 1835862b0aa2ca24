// RUN: logitile-opt %s --convert-tiles-to-cuda --split-input-file --verify-diagnostics
// Which products warpgroups do not make.

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90", threads = 1>} {
  logitile.kernel @other_gpu(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<512x128xbf16> from @w,
                        %z: !logitile.view<?x512xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 512) step (64, 64) {
      // expected-error @+1 {{is 'using' wgmma, which sm_90 does not have; use mma_sync, or target sm_90a}}
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma : !logitile.view<?x128xbf16>, !logitile.view<512x128xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x512xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @rows(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<512x128xbf16> from @w,
                        %z: !logitile.view<?x512xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 512) step (32, 64) {
      // expected-error @+1 {{is 'using' wgmma in a kernel with tiles of 32 x 64; warpgroups multiply 64 rows each, with up to 256 columns}}
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma : !logitile.view<?x128xbf16>, !logitile.view<512x128xbf16> -> !logitile.tile<32x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x64xf32> to !logitile.view<?x512xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @columns(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<512x128xbf16> from @w,
                        %z: !logitile.view<?x512xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 512) step (64, 512) {
      // expected-error @+1 {{is 'using' wgmma in a kernel with tiles of 64 x 512; warpgroups multiply 64 rows each, with up to 256 columns}}
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma : !logitile.view<?x128xbf16>, !logitile.view<512x128xbf16> -> !logitile.tile<64x512xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x512xf32> to !logitile.view<?x512xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @floats(%n: index from tokens, %x: !logitile.view<?x128xf32> from @x, %w: !logitile.view<512x128xf32> from @w,
                        %z: !logitile.view<?x512xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 512) step (64, 64) {
      // expected-error @+1 {{goes 'by' 64 with operands of 'f32'; wgmma takes blocks of 16 or 32 steps of them}}
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma : !logitile.view<?x128xf32>, !logitile.view<512x128xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x512xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @depth(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<512x128xbf16> from @w,
                        %z: !logitile.view<?x512xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 512) step (64, 64) {
      // expected-error @+1 {{goes 'by' 128 with operands of 'bf16'; wgmma takes blocks of 16, 32 or 64 steps of them}}
      %tile = logitile.project %x, %w at [%row, %column] by 128 using wgmma : !logitile.view<?x128xbf16>, !logitile.view<512x128xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x512xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @other_axis(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<512x128xbf16> from @w,
                              %z: !logitile.view<?x512xf32> from @z) {
    scf.forall (%column, %row) = (0, 0) to (512, %n) step (64, 64) {
      // expected-error @+1 {{is 'using' wgmma_pairs, whose two blocks make neighbouring steps of the first axis of the grid; its row has to be that axis, and nothing else may depend on it}}
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma_pairs : !logitile.view<?x128xbf16>, !logitile.view<512x128xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x512xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @diagonal(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<512x128xbf16> from @w,
                            %z: !logitile.view<?x512xf32> from @z) {
    %one = arith.constant 64 : index
    scf.forall (%row, %part) = (0, 0) to (%n, 512) step (64, 64) {
      %next = arith.addi %row, %one : index
      scf.for %column = %row to %next step %one {
        // expected-error @+1 {{is 'using' wgmma_pairs, whose two blocks make neighbouring steps of the first axis of the grid; its row has to be that axis, and nothing else may depend on it}}
        %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma_pairs : !logitile.view<?x128xbf16>, !logitile.view<512x128xbf16> -> !logitile.tile<64x64xf32>
        logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x512xf32>
      }
    }
  }
}

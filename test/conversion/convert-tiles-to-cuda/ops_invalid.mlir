// RUN: logitile-opt %s --convert-tiles-to-cuda --split-input-file --verify-diagnostics
// What kernels may not ask of single ops on this target. invalid.mlir has what concerns tiles and
// memory.

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @two_types(%n: index from tokens, %x: !logitile.view<?x32xbf16> from @x, %w: !logitile.view<64x32xf32> from @w,
                             %z: !logitile.view<?x64xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (64, 64) {
      // expected-error @+1 {{'hidden' is of 'bf16' and the other operand of 'f32'; both have to be f32, bf16 or f16}}
      %tile = logitile.project %x, %w at [%row, %column] by 32 using mma_sync : !logitile.view<?x32xbf16>, !logitile.view<64x32xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @panels(%n: index from tokens, %x: !logitile.view<?x32xf32> from @x, %w: !logitile.view<64x32xf32> from @w,
                          %z: !logitile.view<?x64xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (64, 64) {
      // expected-error @+1 {{is 'using' panels, which CUDA kernels do not have; use mma_sync}}
      %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xf32>, !logitile.view<64x32xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @carries_a_number(%n: index from tokens) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      // expected-error @+1 {{carries a value of type 'index'; loops of a kernel carry tiles that are computed}}
      %last = scf.for %i = %zero to %three step %one iter_args(%count = %zero) -> (index) {
        %next = arith.addi %count, %one : index
        scf.yield %next : index
      }
    }
  }
}

// -----

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @state_of_a_line(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %ps: !logitile.view<1x?xf32> from @s) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start = logitile.init_state : !logitile.tile<64x1xf32> {
        %c0 = arith.constant 0.0 : f32
        logitile.yield %c0 : f32
      }
      %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      // expected-error @+1 {{folds a tile into row states in a kernel without tiles of two dimensions}}
      %state = logitile.update_state(%start) with (%tile) at %zero below 1 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x1xf32>) init {
        %c0 = arith.constant 0.0 : f32
        logitile.yield %c0 : f32
      } candidate {
      ^bb0(%a: f32):
        logitile.yield
      } update {
      ^bb0(%s: f32, %a: f32):
        %next = arith.addf %s, %a : f32
        logitile.yield %next : f32
      } merge {
      ^bb0(%sa: f32, %sb: f32, %a: f32):
        %both = arith.addf %sa, %sb : f32
        logitile.yield %both : f32
      }
      logitile.store %state to %ps at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    }
  }
}

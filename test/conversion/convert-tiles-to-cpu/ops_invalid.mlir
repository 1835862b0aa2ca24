// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 --split-input-file --verify-diagnostics
// What kernels may not ask of single ops on this target. invalid.mlir has what concerns tiles and
// their places.

logitile.kernel @carries_a_number(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %out: !logitile.view<?xf32> from @out) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{carries a value of type 'index'; loops of a kernel carry tiles}}
    %last = scf.for %i = %zero to %three step %one iter_args(%count = %zero) -> (index) {
      %next = arith.addi %count, %one : index
      scf.yield %next : index
    }
  }
}

// -----

logitile.kernel @packs_elsewhere(%n: index from tokens, %x: !logitile.view<?x40xf32> from @x, %p: !logitile.view<?x40xf32, row_panels> from @p) {
  %zero = arith.constant 0 : index
  %eight = arith.constant 8 : index
  scf.forall (%row) = (0) to (%n) step (32) {
    %tile = logitile.load %x at [%row, %eight] : !logitile.view<?x40xf32> -> !logitile.tile<32x40xf32>
    // expected-error @+1 {{packs rows to another place than they come from}}
    logitile.store %tile to %p at [%row, %zero] : !logitile.tile<32x40xf32> to !logitile.view<?x40xf32, row_panels>
  }
}

// -----

logitile.kernel @unknown_op(%n: index from tokens) {
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{is not an operation of kernels that this target supports}}
    %bits = arith.shli %row, %row : index
  }
}

// -----

logitile.kernel @wide_state(%n: index from tokens, %out: !logitile.view<?x8xf32, column_major> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{starts a row state of '!logitile.tile<64x8xf32>'; expected 1 column}}
    %start = logitile.init_state : !logitile.tile<64x8xf32> {
      %c = arith.constant 0.0 : f32
      logitile.yield %c : f32
    }
    logitile.store %start to %out at [%row, %zero] : !logitile.tile<64x8xf32> to !logitile.view<?x8xf32, column_major>
  }
}

// -----

logitile.kernel @makes_entries(%n: index from tokens, %z: !logitile.view<?x32xf32> from @z, %out: !logitile.view<?xf32> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start = logitile.init_state : !logitile.tile<64x1xf32> {
      %least = arith.constant -1.0 : f32
      logitile.yield %least : f32
    }
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x32xf32> -> !logitile.tile<64x32xf32>
    // expected-error @+1 {{makes entries; CPU kernels do not support that}}
    %next, %entry = logitile.update_state(%start) with (%tile) at %zero below 32
        : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) entries (!logitile.tile<64x32xf32>) init {
      %least = arith.constant -1.0 : f32
      logitile.yield %least : f32
    } candidate {
    ^bb0(%x: f32):
      logitile.yield %x : f32
    } update {
    ^bb0(%m: f32, %x: f32):
      logitile.yield %m, %x : f32, f32
    } merge {
    ^bb0(%a: f32, %b: f32, %x: f32):
      logitile.yield %a : f32
    }
    logitile.store %next to %out at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 --split-input-file --verify-diagnostics
// What kernels may not ask of this target.

logitile.kernel @narrow_tokens(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %out: !logitile.view<?xf32> from @out) {
  scf.forall (%row) = (0) to (%n) step (24) {
    // expected-error @+1 {{has tiles of tokens that start at multiples of 24; this target needs multiples of 32}}
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<24x1xf32>
    logitile.store %tile to %out at [%row] : !logitile.tile<24x1xf32> to !logitile.view<?xf32>
  }
}

// -----

logitile.kernel @no_tokens(%x: !logitile.view<?xf32> from @x, %out: !logitile.view<?xf32> from @out) {
  scf.forall (%row) = (0) to (64) step (32) {
    // expected-error @+1 {{has a tile that ends with the tokens of the launch, but the kernel has no argument from tokens}}
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<32x1xf32>
    logitile.store %tile to %out at [%row] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
  }
}

// -----

// expected-error @+1 {{argument 0 is '!logitile.view<8xf64>'; kernels take elements of f32, bf16, f16, i64, i32 or i1}}
logitile.kernel @element(%x: !logitile.view<8xf64> from @x) {
}

// -----

logitile.kernel @transposed_hidden(%n: index from tokens, %x: !logitile.view<?x32xf32, column_major> from @x, %w: !logitile.view<64x32xf32> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 64) step (32, 16) {
    // expected-error @+1 {{'hidden' is '!logitile.view<?x32xf32, column_major>', but dot_products read it in rows: a strided view}}
    %tile = logitile.project %x, %w at [%row, %column] by 32 using dot_products : !logitile.view<?x32xf32, column_major>, !logitile.view<64x32xf32> -> !logitile.tile<32x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
  }
}

// -----

logitile.kernel @packed_bf16(%n: index from tokens, %x: !logitile.view<?x32xbf16, row_panels> from @x, %w: !logitile.view<64x32xbf16> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 64) step (32, 16) {
    // expected-error @+1 {{'hidden' is packed as 'bf16', which avx512 cannot multiply; pack it as f32}}
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xbf16, row_panels>, !logitile.view<64x32xbf16> -> !logitile.tile<32x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
  }
}

// -----

logitile.kernel @vocab_split_of_no_tiles(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<64x32xf32> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  %vocab_split = arith.constant 24 : index
  %tn = arith.constant 16 : index
  %v = arith.constant 64 : index
  scf.forall (%row, %s) = (0, 0) to (%n, 3) step (32, 1) {
    %first = arith.muli %s, %vocab_split : index
    %next = arith.addi %first, %vocab_split : index
    %end = arith.minui %next, %v : index
    scf.for %column = %first to %end step %tn {
      // expected-error @+1 {{has tiles of 16 along the vocabulary axis that start at multiples of 8; make vocabulary splits a multiple of the tile}}
      %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xf32, row_panels>, !logitile.view<64x32xf32> -> !logitile.tile<32x16xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
    }
  }
}

// -----

logitile.kernel @past_the_loop(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<64x32xf32> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 40) step (32, 16) {
    // expected-error @+1 {{has tiles of 16 along the vocabulary axis that may reach past the end of their loop; make vocabulary splits a multiple of the tile}}
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xf32, row_panels>, !logitile.view<64x32xf32> -> !logitile.tile<32x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
  }
}

// -----

logitile.kernel @packed_gradient(%n: index from tokens, %g: !logitile.view<?x96xf32> from @g, %w: !logitile.view<96x32xf32> from @w, %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{'lhs' is '!logitile.view<?x96xf32>'; expected column_major}}
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using panels : !logitile.view<?x96xf32>, !logitile.view<96x32xf32> -> !logitile.tile<64x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

// -----

logitile.kernel @loads_panels(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{reads from '!logitile.view<?x32xf32, row_panels>'; packed buffers are operands of contractions only}}
    %tile = logitile.load %x at [%row, %zero] : !logitile.view<?x32xf32, row_panels> -> !logitile.tile<64x32xf32>
    logitile.store %tile to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

// -----

logitile.kernel @overwrites(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %g: !logitile.view<?x8xf32, column_major> from @g, %s: !logitile.view<1x8xf32> from @s) attributes {aliases = {g = @z}} {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %dz = logitile.map(%tile) at %zero : (!logitile.tile<64x8xf32>) -> !logitile.tile<64x8xf32> {
    ^bb0(%z_in: f32):
      %d = arith.negf %z_in : f32
      logitile.yield %d : f32
    }
    // expected-error @+1 {{may overwrite a tile that a later op reads; store last}}
    logitile.store %dz to %g at [%row, %zero] : !logitile.tile<64x8xf32> to !logitile.view<?x8xf32, column_major>
    %sum = logitile.sum_tokens %tile at %row below %n : !logitile.tile<64x8xf32> -> !logitile.tile<1x8xf32>
    logitile.store %sum to %s at [%zero, %zero] : !logitile.tile<1x8xf32> to !logitile.view<1x8xf32>
  }
}

// -----

logitile.kernel @loose_number(%n: index from tokens) {
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{is no index; other numbers belong into the regions of map and row operations}}
    %half = arith.constant 5.000000e-01 : f32
  }
}

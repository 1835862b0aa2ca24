// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 --split-input-file --verify-diagnostics
// What kernels may not ask of products on this target, nor do with what they make.

logitile.kernel @sum_of_products(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %w: !logitile.view<96x32xf32> from @w,
                     %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using panels : !logitile.view<?x96xf32, column_major>, !logitile.view<96x32xf32> -> !logitile.tile<64x32xf32>
    // expected-error @+1 {{sums a tile whose lanes are not tokens}}
    %sum = logitile.sum_tokens %tile at %row below %n : !logitile.tile<64x32xf32> -> !logitile.tile<1x32xf32>
    logitile.store %sum to %out at [%zero, %zero] : !logitile.tile<1x32xf32> to !logitile.view<?x32xf32>
  }
}

// -----

logitile.kernel @map_of_products(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %w: !logitile.view<96x32xf32> from @w,
                     %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using panels : !logitile.view<?x96xf32, column_major>, !logitile.view<96x32xf32> -> !logitile.tile<64x32xf32>
    // expected-error @+1 {{reads tile 0, '!logitile.tile<64x32xf32>', whose lanes are not tokens}}
    %twice = logitile.map(%tile) : (!logitile.tile<64x32xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      logitile.yield %y : f32
    }
    logitile.store %twice to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

// -----

logitile.kernel @terms_of_products(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %w: !logitile.view<96x32xf32> from @w,
                     %c: !logitile.view<?xi32> from @c, %a: !logitile.view<?xf32> from @a,
                     %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using panels : !logitile.view<?x96xf32, column_major>, !logitile.view<96x32xf32> -> !logitile.tile<64x32xf32>
    // expected-error @+1 {{works on a tile that is laid out for another op; CPU kernels do not support that}}
    %sum = logitile.sparse_terms add %tile, [%c, %a] at [%row, %zero] below %n : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

// -----

logitile.kernel @products_of_warps(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %w: !logitile.view<96x32xf32> from @w, %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{is 'using' mma_sync, which this target does not have here; use panels or rank_updates}}
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using mma_sync : !logitile.view<?x96xf32, column_major>, !logitile.view<96x32xf32> -> !logitile.tile<64x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

// -----

logitile.kernel @deep_updates(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %w: !logitile.view<96x32xf32> from @w, %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    // expected-error @+1 {{is 'using' rank_updates 'by' 96; they take at most}}
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 96 using rank_updates : !logitile.view<?x96xf32, column_major>, !logitile.view<96x32xf32> -> !logitile.tile<64x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

// -----

logitile.kernel @columns_between_lanes(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %w: !logitile.view<96x48xf32> from @w, %out: !logitile.view<?x48xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row, %column) = (0, 0) to (%n, 48) step (64, 24) {
    // expected-error @+1 {{has tiles of columns that start at multiples of 24; this target needs multiples of 32}}
    %sum = logitile.contract %g, %w at [%row, %column] over [%zero to %v] by 48 using panels : !logitile.view<?x96xf32, column_major>, !logitile.view<96x48xf32> -> !logitile.tile<64x24xf32>
    logitile.store %sum to %out at [%row, %column] : !logitile.tile<64x24xf32> to !logitile.view<?x48xf32>
  }
}

// -----

logitile.kernel @pairs_of_one_side(%n: index from tokens, %g: !logitile.view<?x96xf32, column_major> from @g, %x: !logitile.view<?x32xbf16, column_panels> from @x, %out: !logitile.view<96x32xf32> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (96) step (48) {
    // expected-error @+1 {{'rhs' is packed as 'bf16' but 'lhs' is 'f32', which avx512 cannot multiply; pack 'rhs' as f32}}
    %sum = logitile.contract %g transposed, %x at [%row, %zero] over [%zero to %n] by 48 using panels : !logitile.view<?x96xf32, column_major>, !logitile.view<?x32xbf16, column_panels> -> !logitile.tile<48x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<48x32xf32> to !logitile.view<96x32xf32>
  }
}

// -----

logitile.kernel @project_of_warps(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<64x32xf32> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 64) step (32, 16) {
    // expected-error @+1 {{is 'using' mma_sync, which this target does not have here; use panels or dot_products}}
    %tile = logitile.project %x, %w at [%row, %column] by 32 using mma_sync : !logitile.view<?x32xf32, row_panels>, !logitile.view<64x32xf32> -> !logitile.tile<32x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
  }
}

// -----

logitile.kernel @terms_of_a_load(%n: index from tokens, %z: !logitile.view<?x32xf32, column_major> from @z, %w: !logitile.view<96x32xf32> from @w,
                                %column: !logitile.view<?xi32> from @column, %coefficient: !logitile.view<?xf32> from @coefficient,
                                %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x32xf32, column_major> -> !logitile.tile<64x32xf32>
    // expected-error @+1 {{works on a tile that is not the result of a contraction}}
    %exact = logitile.contract_sparse %tile, [%column, %coefficient], %w at [%row, %zero] below %n
        : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<96x32xf32>
    logitile.store %exact to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

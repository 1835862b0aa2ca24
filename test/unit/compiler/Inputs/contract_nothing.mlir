logitile.kernel @contract(%n: index from tokens, %none: index from vocab_split_end, %g: !logitile.view<?x8xf32, column_major> from @g, %w: !logitile.view<8x5xf32> from @w,
                          %out: !logitile.view<?x5xf32> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %none] by 16 using panels : !logitile.view<?x8xf32, column_major>, !logitile.view<8x5xf32> -> !logitile.tile<$TMx$TMxf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<$TMx$TMxf32> to !logitile.view<?x5xf32>
  }
}

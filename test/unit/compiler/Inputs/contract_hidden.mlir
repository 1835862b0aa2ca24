logitile.kernel @contract(%n: index from tokens, %accumulate: i1 from accumulate_tokens, %map: !logitile.view<?xi32> from @map, %g: !logitile.view<?x$Vx$G, column_major> from @g,
                          %w: !logitile.view<$Vx$Dx$IN> from @w, %out: !logitile.view<?x$Dx$OUT> from @out) {
  %first = arith.constant 2 : index
  %end = arith.constant $V : index
  scf.forall (%row, %column) = (0, 0) to (%n, $D) step ($TM, $TD) {
    %sum = logitile.contract %g, %w at [%row, %column] over [%first to %end] by $TK using $ALGORITHM plus %out when %accumulate through %map
        : !logitile.view<?x$Vx$G, column_major>, !logitile.view<$Vx$Dx$IN> plus !logitile.view<?x$Dx$OUT> through !logitile.view<?xi32> -> !logitile.tile<$TMx$TDxf32>
    logitile.store %sum to %out at [%row, %column] through %map : !logitile.tile<$TMx$TDxf32> to !logitile.view<?x$Dx$OUT>, !logitile.view<?xi32>
  }
}

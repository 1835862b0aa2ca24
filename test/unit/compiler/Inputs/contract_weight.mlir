logitile.kernel @contract(%n: index from tokens, %accumulate: i1 from accumulate_tokens, %g: !logitile.view<?x$Vx$G, column_major> from @g,
                          %x: !logitile.view<?x$Dx$OP, column_panels> from @x, %out: !logitile.view<$Vx$Dx$OUT> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row, %column) = (0, 0) to ($V, $D) step ($TN, $TD) {
    %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by $TK using $ALGORITHM plus %out when %accumulate
        : !logitile.view<?x$Vx$G, column_major>, !logitile.view<?x$Dx$OP, column_panels> plus !logitile.view<$Vx$Dx$OUT> -> !logitile.tile<$TNx$TDxf32>
    logitile.store %sum to %out at [%row, %column] : !logitile.tile<$TNx$TDxf32> to !logitile.view<$Vx$Dx$OUT>
  }
}

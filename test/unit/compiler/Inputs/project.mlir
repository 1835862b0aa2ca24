logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x$Dx$OP, row_panels> from @x, %w: !logitile.view<$Vx$Dx$IN> from @w,
                         %z: !logitile.view<?x$Vx$KEPT, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, $TN) {
    %tile = logitile.project %x, %w at [%row, %column] by $TK using $ALGORITHM : !logitile.view<?x$Dx$OP, row_panels>, !logitile.view<$Vx$Dx$IN> -> !logitile.tile<$TMx$TNxf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<$TMx$TNxf32> to !logitile.view<?x$Vx$KEPT, column_major>
  }
}

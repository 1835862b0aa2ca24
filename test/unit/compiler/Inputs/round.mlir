logitile.kernel @round(%sum: !logitile.view<5x$Dxf32> from @sum, %out: !logitile.view<5x$Dx$OUT> from @out) {
  scf.forall (%row, %column) = (0, 0) to (5, $D) step (2, $TD) {
    %tile = logitile.load %sum at [%row, %column] : !logitile.view<5x$Dxf32> -> !logitile.tile<2x$TDxf32>
    logitile.store %tile to %out at [%row, %column] : !logitile.tile<2x$TDxf32> to !logitile.view<5x$Dx$OUT>
  }
}

logitile.kernel @pack(%n: index from tokens, %map: !logitile.view<?xi32> from @map, %x: !logitile.view<?x$Dx$IN> from @x,
                      %p: !logitile.view<?x$Dx$OP, $LAYOUT> from @p) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %tile = logitile.load %x at [%row, %zero] through %map : !logitile.view<?x$Dx$IN>, !logitile.view<?xi32> -> !logitile.tile<$TMx$Dx$OP>
    logitile.store %tile to %p at [%row, %zero] : !logitile.tile<$TMx$Dx$OP> to !logitile.view<?x$Dx$OP, $LAYOUT>
  }
}

logitile.kernel @terms(%n: index from tokens, %g: !logitile.view<?x$Vx$OP, column_major> from @g, %x: !logitile.view<?x$Dx$OP, column_panels> from @x,
                       %c: !logitile.view<?xi32> from @c, %a: !logitile.view<?xf32> from @a, %out: !logitile.view<$Vx$Dxf32> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row, %column) = (0, 0) to ($V, $D) step (16, $TM) {
    %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 16 using $ALGORITHM : !logitile.view<?x$Vx$OP, column_major>, !logitile.view<?x$Dx$OP, column_panels> -> !logitile.tile<16x$TMxf32>
    %all = logitile.contract_sparse %sum, [%c, %a, %c, %a] transposed, %x at [%row, %column] below %n
      : !logitile.tile<16x$TMxf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>, !logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<?x$Dx$OP, column_panels>
    logitile.store %all to %out at [%row, %column] : !logitile.tile<16x$TMxf32> to !logitile.view<$Vx$Dxf32>
  }
}

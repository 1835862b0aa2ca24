logitile.kernel @terms(%n: index from tokens, %g: !logitile.view<?x$Vxf32, column_major> from @g, %w: !logitile.view<$Vx$Dx$IN> from @w,
                       %c: !logitile.view<?xi32> from @c, %a: !logitile.view<?xf32> from @a, %out: !logitile.view<?x$Dxf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant $V : index
  scf.forall (%row, %column) = (0, 0) to (%n, $D) step ($TM, $TM) {
    %sum = logitile.contract %g, %w at [%row, %column] over [%zero to %v] by 16 using panels : !logitile.view<?x$Vxf32, column_major>, !logitile.view<$Vx$Dx$IN> -> !logitile.tile<$TMx$TMxf32>
    %all = logitile.contract_sparse %sum, [%c, %a] , %w at [%row, %column] below %n : !logitile.tile<$TMx$TMxf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<$Vx$Dx$IN>
    logitile.store %all to %out at [%row, %column] : !logitile.tile<$TMx$TMxf32> to !logitile.view<?x$Dxf32>
  }
}

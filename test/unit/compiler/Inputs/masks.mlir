logitile.kernel @select(%n: index from tokens, %map: !logitile.view<?xi32> from @map, %m: !logitile.view<?x$Vxi1> from @m, %k: !logitile.view<$Vxi1> from @k, %z: !logitile.view<?x$Vxf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %dense = logitile.load %m at [%row, %column] through %map : !logitile.view<?x$Vxi1>, !logitile.view<?xi32> -> !logitile.tile<$TMx8xi1>
    %keep = logitile.load %k at [%column] : !logitile.view<$Vxi1> -> !logitile.tile<1x8xi1>
    %chosen = logitile.map(%dense, %keep) at %column : (!logitile.tile<$TMx8xi1>, !logitile.tile<1x8xi1>) -> !logitile.tile<$TMx8xf32> {
    ^bb0(%m_in: i1, %k_in: i1):
      %both = arith.andi %m_in, %k_in : i1
      %one = arith.constant 1.0 : f32
      %none = arith.constant -2.0 : f32
      %s = arith.select %both, %one, %none : f32
      logitile.yield %s : f32
    }
    logitile.store %chosen to %z at [%row, %column] : !logitile.tile<$TMx8xf32> to !logitile.view<?x$Vxf32, column_major>
  }
}

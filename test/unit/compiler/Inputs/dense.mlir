logitile.kernel @add(%n: index from tokens, %map: !logitile.view<?xi32> from @map, %z: !logitile.view<?x$Vxf32, column_major> from @z, %q: !logitile.view<?x$Vx$Q> from @q,
                     %g: !logitile.view<?x$Vx$Q> from @g) {
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
    %dense = logitile.load %q at [%row, %column] through %map : !logitile.view<?x$Vx$Q>, !logitile.view<?xi32> -> !logitile.tile<$TMx8xf32>
    %sum = logitile.map(%tile, %dense) at %column : (!logitile.tile<$TMx8xf32>, !logitile.tile<$TMx8xf32>) -> !logitile.tile<$TMx8xf32> {
    ^bb0(%z_in: f32, %q_in: f32):
      %s = arith.addf %z_in, %q_in : f32
      logitile.yield %s : f32
    }
    logitile.store %sum to %g at [%row, %column] through %map : !logitile.tile<$TMx8xf32> to !logitile.view<?x$Vx$Q>, !logitile.view<?xi32>
  }
}

logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x$Dx$OP, row_panels> from @x, %w: !logitile.view<$Vx$Dx$IN> from @w,
                         %u: !logitile.view<$Vx$Dx$IN> from @u, %z: !logitile.view<?x$Vxf32, column_major> from @z,
                         %t: !logitile.view<?x$Vxf32, column_major> from @t, %s: !logitile.view<1x$Vxf32> from @s) {
  %zero = arith.constant 0 : index
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, $TN) {
    %a = logitile.project %x, %w at [%row, %column] by $D using $ALGORITHM : !logitile.view<?x$Dx$OP, row_panels>, !logitile.view<$Vx$Dx$IN> -> !logitile.tile<$TMx$TNxf32>
    %b = logitile.project %x, %u at [%row, %column] by $D using $ALGORITHM : !logitile.view<?x$Dx$OP, row_panels>, !logitile.view<$Vx$Dx$IN> -> !logitile.tile<$TMx$TNxf32>
    logitile.store %a to %z at [%row, %column] : !logitile.tile<$TMx$TNxf32> to !logitile.view<?x$Vxf32, column_major>
    logitile.store %b to %t at [%row, %column] : !logitile.tile<$TMx$TNxf32> to !logitile.view<?x$Vxf32, column_major>
    %d = logitile.map(%a, %b) at %column : (!logitile.tile<$TMx$TNxf32>, !logitile.tile<$TMx$TNxf32>) -> !logitile.tile<$TMx$TNxf32> {
    ^bb0(%a_in: f32, %b_in: f32):
      %difference = arith.subf %a_in, %b_in : f32
      logitile.yield %difference : f32
    }
    %sum = logitile.sum_tokens %d at %row below %n : !logitile.tile<$TMx$TNxf32> -> !logitile.tile<1x$TNxf32>
    logitile.store %sum to %s at [%zero, %column] : !logitile.tile<1x$TNxf32> to !logitile.view<1x$Vxf32>
  }
}

logitile.kernel @gradient(%n: index from tokens, %z: !logitile.view<?x$Vxf32, column_major> from @z, %lse: !logitile.view<?xf32> from @lse,
                          %b: !logitile.view<$Vxf32> from @bias, %s: !logitile.view<1xf32> from @scale, %t: !logitile.view<?xi32> from @t, %a: !logitile.view<?xf32> from @a,
                          %g: !logitile.view<?x$Vx$G, column_major> from @g) {
  %zero = arith.constant 0 : index
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
    %l = logitile.load %lse at [%row] : !logitile.view<?xf32> -> !logitile.tile<$TMx1xf32>
    %bias = logitile.load %b at [%column] : !logitile.view<$Vxf32> -> !logitile.tile<1x8xf32>
    %scale = logitile.load %s at [%zero] : !logitile.view<1xf32> -> !logitile.tile<1x1xf32>
    %dz = logitile.map(%tile, %l, %bias, %scale) at %column : (!logitile.tile<$TMx8xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<1x8xf32>, !logitile.tile<1x1xf32>) -> !logitile.tile<$TMx8xf32> {
    ^bb0(%z_in: f32, %l_in: f32, %b_in: f32, %s_in: f32):
      %x = arith.subf %z_in, %l_in : f32
      %p = math.exp %x : f32
      %c = logitile.column : i32
      %cf = arith.sitofp %c : i32 to f32
      %d = arith.mulf %b_in, %s_in : f32
      %e = arith.mulf %cf, %d : f32
      %sum = arith.addf %p, %e : f32
      logitile.yield %sum : f32
    }
    $TERMS
    logitile.store $RESULT to %g at [%row, %column] : !logitile.tile<$TMx8xf32> to !logitile.view<?x$Vx$G, column_major>
  }
}

logitile.kernel @language(%n: index from tokens, %x: !logitile.view<?xf32> from @x, %w: !logitile.view<?xf32> from @w, %sigmoid: !logitile.view<?xf32> from @sigmoid,
                          %softplus: !logitile.view<?xf32> from @softplus, %weighed: !logitile.view<?xf32> from @weighed) {
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<$TMx1xf32>
    %weight = logitile.load %w at [%row] : !logitile.view<?xf32> -> !logitile.tile<$TMx1xf32>
    %all:3 = logitile.map(%tile, %weight) : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) {
    ^bb0(%v: f32, %u: f32):
      %a = logitile.sigmoid %v : f32
      %b = logitile.softplus %v : f32
      %c = logitile.multiply_no_nan %u, %v : f32
      logitile.yield %a, %b, %c : f32, f32, f32
    }
    logitile.store %all#0 to %sigmoid at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
    logitile.store %all#1 to %softplus at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
    logitile.store %all#2 to %weighed at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
  }
}

logitile.kernel @finish(%n: index from tokens, %p: !logitile.view<3x?xf32> from @p, %s: !logitile.view<?xf32> from @s, %loss: !logitile.view<?xf32> from @loss, %up: !logitile.view<?xi1> from @up) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %in = logitile.load %s at [%row] : !logitile.view<?xf32> -> !logitile.tile<$TMx1xf32>
    %start = logitile.init_state : !logitile.tile<$TMx1xf32> {
      %c = arith.constant 1.0 : f32
      logitile.yield %c : f32
    }
    %state = scf.for %vocab_split = %zero to %three step %one iter_args(%rows = %start) -> (!logitile.tile<$TMx1xf32>) {
      %other = logitile.load %p at [%vocab_split, %row] : !logitile.view<3x?xf32> -> !logitile.tile<$TMx1xf32>
      %both = logitile.map(%rows, %other) : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) -> !logitile.tile<$TMx1xf32> {
      ^bb0(%a: f32, %b: f32):
        %half = arith.constant 0.5 : f32
        %x = arith.mulf %a, %half : f32
        %y = arith.addf %x, %b : f32
        logitile.yield %y : f32
      }
      scf.yield %both : !logitile.tile<$TMx1xf32>
    }
    %result:2 = logitile.map(%state, %in) : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi1>) {
    ^bb0(%a: f32, %b: f32):
      %x = arith.subf %a, %b : f32
      %g = arith.cmpf ogt, %a, %b : f32
      logitile.yield %x, %g : f32, i1
    }
    logitile.store %result#0 to %loss at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
    logitile.store %result#1 to %up at [%row] : !logitile.tile<$TMx1xi1> to !logitile.view<?xi1>
  }
}

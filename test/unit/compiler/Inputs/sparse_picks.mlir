logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x$Vxf32, column_major> from @z, %t: !logitile.view<?xi32> from @t, %f: !logitile.view<?xi1> from @f,
                       %pa: !logitile.view<1x?xf32> from @a, %pb: !logitile.view<1x?xi32> from @b) {
  %zero = arith.constant 0 : index
  %tn = arith.constant 8 : index
  %v = arith.constant $V : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %start:2 = logitile.init_state : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32> {
      %c0 = arith.constant 0.0 : f32
      %i0 = arith.constant 0 : i32
      logitile.yield %c0, %i0 : f32, i32
    }
    %state:2 = scf.for %column = %zero to %v step %tn iter_args(%a = %start#0, %b = %start#1) -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>) {
      %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
      %target = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<$TMx1xi32>
      %flag = logitile.load %f at [%row] : !logitile.view<?xi1> -> !logitile.tile<$TMx1xi1>
      %new:2 = logitile.update_state(%a, %b) with (%tile, %target, %flag) at %column below $V
          : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>), (!logitile.tile<$TMx8xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>) init {
        %c0 = arith.constant 0.0 : f32
        %i0 = arith.constant 0 : i32
        logitile.yield %c0, %i0 : f32, i32
      } candidate {
      ^bb0(%x: f32, %i: i32, %ok: i1):
        logitile.yield
      } update {
      ^bb0(%old: f32, %oldColumn: i32, %x: f32, %i: i32, %ok: i1):
        %one = arith.constant 1 : i32
        %next = arith.addi %i, %one : i32
        %col = logitile.column : i32
        %is = arith.cmpi eq, %next, %col : i32
        %oneF = arith.constant 1.0 : f32
        %y = arith.addf %x, %oneF : f32
        %picked = arith.select %is, %y, %old : f32
        %isHere = arith.cmpi eq, %col, %i : i32
        %both = arith.andi %ok, %isHere : i1
        %pickedColumn = arith.select %both, %col, %oldColumn : i32
        logitile.yield %picked, %pickedColumn : f32, i32
      } merge {
      ^bb0(%pa_in: f32, %ca: i32, %pb_in: f32, %cb: i32, %x: f32, %i: i32, %ok: i1):
        %sum = arith.addf %pa_in, %pb_in : f32
        %sumColumn = arith.addi %ca, %cb : i32
        logitile.yield %sum, %sumColumn : f32, i32
      }
      scf.yield %new#0, %new#1 : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>
    }
    logitile.store %state#0 to %pa at [%zero, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<1x?xf32>
    logitile.store %state#1 to %pb at [%zero, %row] : !logitile.tile<$TMx1xi32> to !logitile.view<1x?xi32>
  }
}

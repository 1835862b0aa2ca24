logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x$Vxf32, column_major> from @z, %b: !logitile.view<$Vxf32> from @bias,
                       %pm: !logitile.view<1x?xf32> from @max, %pi: !logitile.view<1x?xi32> from @arg, %pc: !logitile.view<1x?xi32> from @count, %pa: !logitile.view<1x?xi1> from @any) {
  %zero = arith.constant 0 : index
  %tn = arith.constant 8 : index
  %v = arith.constant $V : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %start:4 = logitile.init_state : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1> {
      %low = arith.constant 0xFF7FFFFF : f32
      %none = arith.constant -1 : i32
      %c0 = arith.constant 0 : i32
      %no = arith.constant false
      logitile.yield %low, %none, %c0, %no : f32, i32, i32, i1
    }
    %state:4 = scf.for %column = %zero to %v step %tn iter_args(%m = %start#0, %i = %start#1, %c = %start#2, %a = %start#3)
        -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>) {
      %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
      %bias = logitile.load %b at [%column] : !logitile.view<$Vxf32> -> !logitile.tile<1x8xf32>
      %new:4 = logitile.update_state(%m, %i, %c, %a) with (%tile, %bias) at %column below $V
          : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>), (!logitile.tile<$TMx8xf32>, !logitile.tile<1x8xf32>) init {
        %low = arith.constant 0xFF7FFFFF : f32
        %none = arith.constant -1 : i32
        %c0 = arith.constant 0 : i32
        %no = arith.constant false
        logitile.yield %low, %none, %c0, %no : f32, i32, i32, i1
      } candidate {
      ^bb0(%x: f32, %bias_in: f32):
        %y = arith.addf %x, %bias_in : f32
        logitile.yield %y : f32
      } update {
      ^bb0(%max: f32, %arg: i32, %hits: i32, %any: i1, %x: f32, %bias_in: f32):
        %y = arith.addf %x, %bias_in : f32
        %col = logitile.column : i32
        %is = arith.cmpf oeq, %y, %max : f32
        %none = arith.constant -1 : i32
        %free = arith.cmpi eq, %arg, %none : i32
        %first = arith.andi %is, %free : i1
        %newArg = arith.select %first, %col, %arg : i32
        %zeroF = arith.constant 0.0 : f32
        %up = arith.cmpf ogt, %y, %zeroF : f32
        %one = arith.extui %up : i1 to i32
        %newHits = arith.addi %hits, %one : i32
        %large = arith.constant 1.5 : f32
        %over = arith.cmpf ogt, %y, %large : f32
        %newAny = arith.ori %any, %over : i1
        logitile.yield %max, %newArg, %newHits, %newAny : f32, i32, i32, i1
      } merge {
      ^bb0(%ma: f32, %ia: i32, %ca: i32, %aa: i1, %mb: f32, %ib: i32, %cb: i32, %ab: i1, %x: f32, %bias_in: f32):
        %gt = arith.cmpf ogt, %mb, %ma : f32
        %max = arith.select %gt, %mb, %ma : f32
        %arg = arith.select %gt, %ib, %ia : i32
        %hits = arith.addi %ca, %cb : i32
        %any = arith.ori %aa, %ab : i1
        logitile.yield %max, %arg, %hits, %any : f32, i32, i32, i1
      }
      scf.yield %new#0, %new#1, %new#2, %new#3 : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>
    }
    logitile.store %state#0 to %pm at [%zero, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<1x?xf32>
    logitile.store %state#1 to %pi at [%zero, %row] : !logitile.tile<$TMx1xi32> to !logitile.view<1x?xi32>
    logitile.store %state#2 to %pc at [%zero, %row] : !logitile.tile<$TMx1xi32> to !logitile.view<1x?xi32>
    logitile.store %state#3 to %pa at [%zero, %row] : !logitile.tile<$TMx1xi1> to !logitile.view<1x?xi1>
  }
}

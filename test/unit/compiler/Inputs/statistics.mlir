logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x$Vxf32, column_major> from @z, %t: !logitile.view<?xi32> from @t,
                       %pm: !logitile.view<2x?xf32> from @max, %ps: !logitile.view<2x?xf32> from @sum, %pp: !logitile.view<2x?xf32> from @pick) {
  %tn = arith.constant $TN : index
  %vocab_split = arith.constant $SPLIT : index
  %v = arith.constant $V : index
  scf.forall (%row, %s) = (0, 0) to (%n, 2) step ($TM, 1) {
    %first = arith.muli %s, %vocab_split : index
    %next = arith.addi %first, %vocab_split : index
    %end = arith.minui %next, %v : index
    %start:3 = logitile.init_state : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32> {
      %low = arith.constant 0xFF7FFFFF : f32
      %zero = arith.constant 0.0 : f32
      logitile.yield %low, %zero, %zero : f32, f32, f32
    }
    %state:3 = scf.for %column = %first to %end step %tn iter_args(%m = %start#0, %l = %start#1, %p = %start#2)
        -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) {
      %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx$TNxf32>
      %target = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<$TMx1xi32>
      %new:3 = logitile.update_state(%m, %l, %p) with (%tile, %target) at %column below $V
          : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>), (!logitile.tile<$TMx$TNxf32>, !logitile.tile<$TMx1xi32>) init {
        %low = arith.constant 0xFF7FFFFF : f32
        %zero = arith.constant 0.0 : f32
        logitile.yield %low, %zero, %zero : f32, f32, f32
      } candidate {
      ^bb0(%x: f32, %i: i32):
        logitile.yield %x : f32
      } update {
      ^bb0(%max: f32, %sum: f32, %pick: f32, %x: f32, %i: i32):
        %d = arith.subf %x, %max : f32
        %e = math.exp %d : f32
        %all = arith.addf %sum, %e : f32
        %c = logitile.column : i32
        %is = arith.cmpi eq, %c, %i : i32
        %picked = arith.select %is, %x, %pick : f32
        logitile.yield %max, %all, %picked : f32, f32, f32
      } merge {
      ^bb0(%ma: f32, %sa: f32, %pa: f32, %mb: f32, %sb: f32, %pb: f32, %x: f32, %i: i32):
        %gt = arith.cmpf ogt, %mb, %ma : f32
        %max = arith.select %gt, %mb, %ma : f32
        %da = arith.subf %ma, %max : f32
        %db = arith.subf %mb, %max : f32
        %ea = math.exp %da : f32
        %eb = math.exp %db : f32
        %wa = logitile.multiply_no_nan %ea, %sa : f32
        %wb = logitile.multiply_no_nan %eb, %sb : f32
        %sum = arith.addf %wa, %wb : f32
        %pick = arith.addf %pa, %pb : f32
        logitile.yield %max, %sum, %pick : f32, f32, f32
      }
      scf.yield %new#0, %new#1, %new#2 : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>
    }
    logitile.store %state#0 to %pm at [%s, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<2x?xf32>
    logitile.store %state#1 to %ps at [%s, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<2x?xf32>
    logitile.store %state#2 to %pp at [%s, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<2x?xf32>
  }
}

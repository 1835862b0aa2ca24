logitile.kernel @blocks(%n: index from tokens, %z: !logitile.view<?x$Vxf32, column_major> from @z, %p: !logitile.view<?x$Vxf32> from @p) {
  %tm = arith.constant $TM : index
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %block = arith.divui %row, %tm : index
    %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
    %sums = logitile.sum_tokens %tile at %row below %n : !logitile.tile<$TMx8xf32> -> !logitile.tile<1x8xf32>
    logitile.store %sums to %p at [%block, %column] : !logitile.tile<1x8xf32> to !logitile.view<?x$Vxf32>
  }
}
logitile.kernel @sum(%n: index from tokens, %accumulate: i1 from accumulate_tokens, %p: !logitile.view<?x$Vxf32> from @p, %t: !logitile.view<?xi32> from @t, %a: !logitile.view<?xf32> from @a, %out: !logitile.view<1x$Vxf32> from @out) {
  %zero = arith.constant 0 : index
  %tm = arith.constant $TM : index
  %blocks = arith.ceildivui %n, %tm : index
  scf.forall (%column) = (0) to ($V) step (8) {
    %sum = logitile.sum_rows %p at %column below %blocks plus %out when %accumulate : !logitile.view<?x$Vxf32> plus !logitile.view<1x$Vxf32> -> !logitile.tile<1x8xf32>
    %all = logitile.sparse_terms sum %sum, [%t, %a] at [%zero, %column] below %n : !logitile.tile<1x8xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
    logitile.store %all to %out at [%zero, %column] : !logitile.tile<1x8xf32> to !logitile.view<1x$Vxf32>
  }
}

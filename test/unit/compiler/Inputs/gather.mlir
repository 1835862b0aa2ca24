logitile.kernel @gather(%n: index from tokens, %map: !logitile.view<?xi32> from @map, %t: !logitile.view<?xi32> from @t, %c: !logitile.view<$Vxf32> from @c, %q: !logitile.view<?x$Vxbf16> from @q,
                        %a: !logitile.view<?xf32> from @a, %b: !logitile.view<?xf32> from @b) {
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %i = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<$TMx1xi32>
    %w = logitile.load_gather %c[%i] : !logitile.view<$Vxf32>, !logitile.tile<$TMx1xi32> -> !logitile.tile<$TMx1xf32>
    %d = logitile.load_gather %q[%i] at %row through %map : !logitile.view<?x$Vxbf16>, !logitile.tile<$TMx1xi32>, !logitile.view<?xi32> -> !logitile.tile<$TMx1xf32>
    logitile.store %w to %a at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
    logitile.store %d to %b at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
  }
}

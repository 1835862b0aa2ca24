// The gradient of hidden states: dX = G W over a range of slabs, added to what is there where the range is not the first.
// Single entries that were taken out of G come in here, in full precision.
logitile.template @contract_hidden<TM, TD, TK, SLAB, V, D, in, g, out, acc>(
    %tokenCount: index from "tokens", %slabFirst: index from "slab_first", %slabBehind: index from "slab_behind",
    %again: i1 from "again", %map: !logitile.view<? x i32> from "map", %grad: !logitile.view<? x V x g> from "grad",
    %weight: !logitile.view<V x D x in> from "weight", %terms: !logitile.taken_views,
    %out: !logitile.view<? x D x out> from "out") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  %slabColumns = logitile.param SLAB
  %first = arith.muli %slabFirst, %slabColumns : index
  %unclipped = arith.muli %slabBehind, %slabColumns : index
  %behind = arith.minui %unclipped, %v : index
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %sum = logitile.contract %grad, %weight at [%row, %column] over [%first to %behind] by TK plus %out when %again through %map
        : !logitile.view<? x V x g>, !logitile.view<V x D x in> plus !logitile.view<? x D x out> through !logitile.view<? x i32>
       -> !logitile.tile<TM x TD x acc>
    %exact = logitile.contract_terms %sum, [%terms], %weight at [%row, %column] below %tokenCount
        : !logitile.tile<TM x TD x acc>, [!logitile.taken_views], !logitile.view<V x D x in>
    logitile.store %exact to %out at [%row, %column] through %map
        : !logitile.tile<TM x TD x acc> to !logitile.view<? x D x out>, !logitile.view<? x i32>
  }
}

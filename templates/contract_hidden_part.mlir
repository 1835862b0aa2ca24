// A part of the gradient of hidden states: dX = G W over a range of slabs, added to the parts before it. @round_rows follows.
logitile.template @contract_hidden_part<TM, TD, TK, SLAB, V, D, in, g, acc>(
    %tokenCount: index from tokens, %slabFirst: index from slab_first, %slabBehind: index from slab_behind,
    %again: i1 from again, %grad: !logitile.view<? x V x g> from "grad",
    %weight: !logitile.view<V x D x in> from "weight", %sum: !logitile.view<? x D x acc> from "sum") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  %slabColumns = logitile.param SLAB
  %first = arith.muli %slabFirst, %slabColumns : index
  %unclipped = arith.muli %slabBehind, %slabColumns : index
  %behind = arith.minui %unclipped, %v : index
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %part = logitile.contract %grad, %weight at [%row, %column] over [%first to %behind] by TK plus %sum when %again
        : !logitile.view<? x V x g>, !logitile.view<V x D x in> plus !logitile.view<? x D x acc> -> !logitile.tile<TM x TD x acc>
    logitile.store %part to %sum at [%row, %column] : !logitile.tile<TM x TD x acc> to !logitile.view<? x D x acc>
  }
}

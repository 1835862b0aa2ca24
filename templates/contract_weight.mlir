// The gradient of the head: dW = G^T X for the rows of a range of slabs, added to what earlier chunks of tokens left.
// Single entries that were taken out of G come in here, in full precision.
logitile.template @contract_weight<TN, TD, TK, SLAB, V, D, op, g, out, acc> for weight_gradient(
    %tokenCount: index from tokens, %slabFirst: index from slab_first, %slabBehind: index from slab_behind,
    %again: i1 from again, %grad: !logitile.view<? x V x g> from "grad",
    %hidden: !logitile.view<? x D x op> from "hidden", %terms: !logitile.taken_views,
    %out: !logitile.view<V x D x out> from "out") {
  %tn = logitile.param TN
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  %slabColumns = logitile.param SLAB
  %zero = arith.constant 0 : index
  %first = arith.muli %slabFirst, %slabColumns : index
  %unclipped = arith.muli %slabBehind, %slabColumns : index
  %behind = arith.minui %unclipped, %v : index
  scf.forall (%row, %column) = (%first, %zero) to (%behind, %d) step (%tn, %td) {
    %sum = logitile.contract %grad transposed, %hidden at [%row, %column] over [%zero to %tokenCount] by TK plus %out when %again
        : !logitile.view<? x V x g>, !logitile.view<? x D x op> plus !logitile.view<V x D x out> -> !logitile.tile<TN x TD x acc>
    %exact = logitile.contract_terms %sum, [%terms] transposed, %hidden at [%row, %column] below %tokenCount
        : !logitile.tile<TN x TD x acc>, [!logitile.taken_views], !logitile.view<? x D x op>
    logitile.store %exact to %out at [%row, %column] : !logitile.tile<TN x TD x acc> to !logitile.view<V x D x out>
  }
}

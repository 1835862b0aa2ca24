// The gradient of hidden states, whole: dX = G W. Single entries that were taken out of G come in here, in full precision.
logitile.template @contract_hidden<TM, TD, TK, V, D, in, g, out, acc>(
    %tokenCount: index from tokens, %map: !logitile.view<? x i32> from token_map, %grad: !logitile.view<? x V x g> from "grad",
    %weight: !logitile.view<V x D x in> from "weight", %terms: !logitile.taken_views,
    %out: !logitile.view<? x D x out> from "out") {
  %zero = arith.constant 0 : index
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %sum = logitile.contract %grad, %weight at [%row, %column] over [%zero to %v] by TK
        : !logitile.view<? x V x g>, !logitile.view<V x D x in> -> !logitile.tile<TM x TD x acc>
    %exact = logitile.contract_terms %sum, [%terms], %weight at [%row, %column] below %tokenCount
        : !logitile.tile<TM x TD x acc>, [!logitile.taken_views], !logitile.view<V x D x in>
    logitile.store %exact to %out at [%row, %column] through %map
        : !logitile.tile<TM x TD x acc> to !logitile.view<? x D x out>, !logitile.view<? x i32>
  }
}

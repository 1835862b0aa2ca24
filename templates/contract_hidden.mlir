// The gradient of hidden states over a range of vocabulary splits: dX = G W, added to the parts
// before it. Each row is multiplied by the factor of its token, if there is one. Sparse terms are
// added in full precision, and rows go through the map of tokens. For a part, @round_rows does it.
logitile.template @contract_hidden<TM, TD, TK, SPLIT, V, D, in, g, out, acc> for hidden_gradient(
    %tokenCount: index from tokens, %vocabSplitFirst: index from vocab_split_first, %vocabSplitEnd: index from vocab_split_end,
    %accumulate: i1 from accumulate, %maps: !logitile.row_maps, %grad: !logitile.view<? x V x g> from "grad",
    %weight: !logitile.view<V x D x in> from "weight", %factors: !logitile.factor_views, %terms: !logitile.extracted_views,
    %out: !logitile.view<? x D x out> from "out") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  %vocabSplitColumns = logitile.param SPLIT
  %first = arith.muli %vocabSplitFirst, %vocabSplitColumns : index
  %unclipped = arith.muli %vocabSplitEnd, %vocabSplitColumns : index
  %end = arith.minui %unclipped, %v : index
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %sum = logitile.contract %grad, %weight at [%row, %column] over [%first to %end] by TK plus %out when %accumulate
        : !logitile.view<? x V x g>, !logitile.view<V x D x in> plus !logitile.view<? x D x out> -> !logitile.tile<TM x TD x acc>
    %factor = logitile.load %factors at [%row] : !logitile.factor_views -> !logitile.factors<TM>
    %scaled = logitile.scale_rows %sum by %factor : !logitile.tile<TM x TD x acc>, !logitile.factors<TM>
    %exact = logitile.contract_sparse %scaled, [%terms], %weight at [%row, %column] below %tokenCount
        : !logitile.tile<TM x TD x acc>, [!logitile.extracted_views], !logitile.view<V x D x in>
    logitile.store %exact to %out at [%row, %column] through %maps
        : !logitile.tile<TM x TD x acc> to !logitile.view<? x D x out>, !logitile.row_maps
  }
}

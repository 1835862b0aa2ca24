// The gradient of the head: dW = G^T X for the rows of a range of vocabulary splits, added to the
// result of earlier chunks of tokens. Sparse terms are added here, in full precision. If the rows
// of G lack a factor, %hidden includes it; sparse terms read hidden states without it.
logitile.template @contract_weight<TN, TD, TK, SPLIT, V, D, op, g, out, acc> for weight_gradient(
    %tokenCount: index from tokens, %vocabSplitFirst: index from vocab_split_first, %vocabSplitEnd: index from vocab_split_end,
    %accumulate: i1 from accumulate, %grad: !logitile.view<? x V x g> from "grad",
    %hidden: !logitile.view<? x D x op> from "hidden", %unscaled: !logitile.view<? x D x op> from "unscaled", %terms: !logitile.extracted_views,
    %out: !logitile.view<V x D x out> from "out") {
  %tn = logitile.param TN
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  %vocabSplitColumns = logitile.param SPLIT
  %zero = arith.constant 0 : index
  %first = arith.muli %vocabSplitFirst, %vocabSplitColumns : index
  %unclipped = arith.muli %vocabSplitEnd, %vocabSplitColumns : index
  %end = arith.minui %unclipped, %v : index
  scf.forall (%row, %column) = (%first, %zero) to (%end, %d) step (%tn, %td) {
    %sum = logitile.contract %grad transposed, %hidden at [%row, %column] over [%zero to %tokenCount] by TK plus %out when %accumulate
        : !logitile.view<? x V x g>, !logitile.view<? x D x op> plus !logitile.view<V x D x out> -> !logitile.tile<TN x TD x acc>
    %exact = logitile.contract_sparse %sum, [%terms] transposed, %unscaled at [%row, %column] below %tokenCount
        : !logitile.tile<TN x TD x acc>, [!logitile.extracted_views], !logitile.view<? x D x op>
    logitile.store %exact to %out at [%row, %column] : !logitile.tile<TN x TD x acc> to !logitile.view<V x D x out>
  }
}

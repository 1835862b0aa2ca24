// The gradient of a Vocab input: adds the sums of blocks of tokens in order, with the sparse terms,
// to the result of earlier chunks of tokens.
logitile.template @sum_blocks<TM, TN, V, acc> for vocab_gradient(
    %tokenCount: index from tokens, %accumulate: i1 from accumulate, %partial: !logitile.view<? x V x acc> from "partial",
    %terms: !logitile.sparse_views, %out: !logitile.view<1 x V x acc> from "out") {
  %tm = logitile.param TM
  %tn = logitile.param TN
  %v = logitile.param V
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %blocks = arith.ceildivui %tokenCount, %tm : index
  scf.forall (%column) = (0) to (%v) step (%tn) {
    %sum = logitile.sum_rows %partial at %column below %blocks plus %out when %accumulate
        : !logitile.view<? x V x acc> plus !logitile.view<1 x V x acc> -> !logitile.tile<1 x TN x acc>
    %exact = logitile.sparse_terms sum %sum, [%terms] at [%zero, %column] below %tokenCount
        : !logitile.tile<1 x TN x acc>, [!logitile.sparse_views]
    logitile.store %exact to %out at [%zero, %column] : !logitile.tile<1 x TN x acc> to !logitile.view<1 x V x acc>
  }
}

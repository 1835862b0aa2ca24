// Recomputes gradients that a sweep has stored, for tiles with a token whose reference was too
// low. This is rare: all other tiles end at once. A task goes through GROUP vocabulary splits, so
// that fewer tasks are started only to find that there is nothing to do.
logitile.template @repair<TM, TN, TK, SPLIT, V, GROUP, acc> for repair(
    %tokenCount: index from tokens, %vocabSplitFirst: index from vocab_split_first, %vocabSplitEnd: index from vocab_split_end,
    %raised: !logitile.view<? x i32> from "raised", %hiddens: !logitile.hiddens, %weights: !logitile.weights,
    %inputViews: !logitile.input_views, %cleared: !logitile.cleared_views, %grads: !logitile.grad_views, %centres: !logitile.centre_views) {
  %tm = logitile.param TM
  %tn = logitile.param TN
  %vocabSplitColumns = logitile.param SPLIT
  %v = logitile.param V
  %group = logitile.param GROUP
  %columns = arith.muli %vocabSplitColumns, %group : index
  %zero = arith.constant 0 : index
  scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokenCount, %vocabSplitEnd) step (%tm, %group) {
    %any = logitile.any_token %raised at %row tokens TM below %tokenCount : !logitile.view<? x i32>
    %first = arith.muli %vocab_split, %vocabSplitColumns : index
    %unclipped = arith.addi %first, %columns : index
    %last = arith.minui %unclipped, %v : index
    %end = arith.select %any, %last, %first : index
    scf.for %column = %first to %end step %tn {
      %z = logitile.project %hiddens, %weights at [%row, %column] by TK
          : !logitile.hiddens, !logitile.weights -> !logitile.logits<TM x TN x acc>
      %in = logitile.load %inputViews at [%row, %column] : !logitile.input_views -> !logitile.inputs<TM x TN>
      %centre = logitile.load %centres at [%zero, %row] : !logitile.centre_views -> !logitile.centres<TM>
      %g, %ofVocab, %ofDense = logitile.apply @gradient(%z, %in, %centre) at %column below V
          : (!logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>, !logitile.centres<TM>)
         -> (!logitile.grads<TM x TN x acc>, !logitile.vocab_grads<TM x TN x acc>, !logitile.dense_grads<TM x TN x acc>)
      %rest = logitile.sparse_terms clear %g, [%cleared] at [%row, %column] below %tokenCount
          : !logitile.grads<TM x TN x acc>, [!logitile.cleared_views]
      logitile.store %rest to %grads at [%row, %column] : !logitile.grads<TM x TN x acc> to !logitile.grad_views
    }
  }
}

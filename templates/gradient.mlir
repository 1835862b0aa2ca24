// Turns logits, computed here or stored before, into their gradients. Logits stored in 16 bits are
// relative to %centre, which CENTRE columns share. Gradients overwrite stored logits. Sums that
// only per-token gradients read are computed too: they are the row state of a fused sweep.
// Sparse terms are added, or extracted if the gradient is rounded. Sparse terms that are lists are
// added in memory.
logitile.template @gradient<TM, TN, TK, SPLIT, CENTRE, V, acc> for gradient(
    %tokenCount: index from tokens, %vocabSplitFirst: index from vocab_split_first, %vocabSplitEnd: index from vocab_split_end,
    %map: !logitile.view<? x i32> from token_map, %hiddens: !logitile.hiddens, %weights: !logitile.weights, %loaded: !logitile.stored_views,
    %inputViews: !logitile.input_views, %added: !logitile.sparse_views, %extracted: !logitile.extracted_views, %listed: !logitile.listed_views, %grads: !logitile.grad_views, %vocabGrads: !logitile.vocab_grad_views,
    %denseGrads: !logitile.dense_grad_views, %partial: !logitile.state_views, %centres: !logitile.centre_views) {
  %tm = logitile.param TM
  %tn = logitile.param TN
  %vocabSplitColumns = logitile.param SPLIT
  %centreColumns = logitile.param CENTRE
  %v = logitile.param V
  %zero = arith.constant 0 : index
  scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokenCount, %vocabSplitEnd) step (%tm, 1) {
    %block = arith.divui %row, %tm : index
    %first = arith.muli %vocab_split, %vocabSplitColumns : index
    %unclipped = arith.addi %first, %vocabSplitColumns : index
    %end = arith.minui %unclipped, %v : index
    %start = logitile.init_state : !logitile.row_state<TM>
    %state = scf.for %column = %first to %end step %tn iter_args(%running = %start) -> (!logitile.row_state<TM>) {
      %tile = arith.divui %column, %centreColumns : index
      %centre = logitile.load %centres at [%tile, %row] : !logitile.centre_views -> !logitile.centres<TM>
      %z = logitile.logits of %hiddens, %weights by TK or %loaded at [%row, %column]
          : !logitile.hiddens, !logitile.weights or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
      %in = logitile.load %inputViews at [%row, %column] : !logitile.input_views -> !logitile.inputs<TM x TN>
      %next = logitile.apply @update(%running, %z, %in) at %column below V
          : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
      %g, %ofVocab, %ofDense = logitile.apply @gradient(%z, %in, %centre) at %column below V
          : (!logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>, !logitile.centres<TM>)
         -> (!logitile.grads<TM x TN x acc>, !logitile.vocab_grads<TM x TN x acc>, !logitile.dense_grads<TM x TN x acc>)
      %exact = logitile.sparse_terms add %g, [%added] at [%row, %column] below %tokenCount
          : !logitile.grads<TM x TN x acc>, [!logitile.sparse_views]
      %rest = logitile.sparse_terms extract %exact, [%extracted] at [%row, %column] below %tokenCount
          : !logitile.grads<TM x TN x acc>, [!logitile.extracted_views]
      logitile.store %rest to %grads at [%row, %column] : !logitile.grads<TM x TN x acc> to !logitile.grad_views
      logitile.scatter_terms [%listed] to %grads at [%row, %column] tokens TM columns TN
          : [!logitile.listed_views] to !logitile.grad_views
      logitile.store %ofDense to %denseGrads at [%row, %column] through %map
          : !logitile.dense_grads<TM x TN x acc> to !logitile.dense_grad_views, !logitile.view<? x i32>
      %sums = logitile.sum_tokens %ofVocab at %row below %tokenCount
          : !logitile.vocab_grads<TM x TN x acc> -> !logitile.vocab_grads<1 x TN x acc>
      logitile.store %sums to %vocabGrads at [%block, %column] : !logitile.vocab_grads<1 x TN x acc> to !logitile.vocab_grad_views
      scf.yield %next : !logitile.row_state<TM>
    }
    logitile.store %state to %partial at [%vocab_split, %row] : !logitile.row_state<TM> to !logitile.state_views
  }
}

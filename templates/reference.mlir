// Computes the exponent reference of each token: a finish of the row state of the first tile of
// the launch's only vocabulary split. The launch has both the sweep and the finish.
logitile.template @reference<TM, TN, TK, SPLIT, V, acc> for reference(
    %tokenCount: index from tokens, %vocabSplitFirst: index from vocab_split_first, %vocabSplitEnd: index from vocab_split_end,
    %hiddens: !logitile.hiddens, %weights: !logitile.weights,
    %inputViews: !logitile.input_views, %results: !logitile.result_views) {
  %tm = logitile.param TM
  %tn = logitile.param TN
  %vocabSplitColumns = logitile.param SPLIT
  %zero = arith.constant 0 : index
  scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokenCount, %vocabSplitEnd) step (%tm, 1) {
    %first = arith.muli %vocab_split, %vocabSplitColumns : index
    %end = arith.addi %first, %tn : index
    %start = logitile.init_state : !logitile.row_state<TM>
    %state = scf.for %column = %first to %end step %tn iter_args(%running = %start) -> (!logitile.row_state<TM>) {
      %z = logitile.project %hiddens, %weights at [%row, %column] by TK
          : !logitile.hiddens, !logitile.weights -> !logitile.logits<TM x TN x acc>
      %in = logitile.load %inputViews at [%row, %column] : !logitile.input_views -> !logitile.inputs<TM x TN>
      %next = logitile.apply @update(%running, %z, %in) at %column below V
          : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
      scf.yield %next : !logitile.row_state<TM>
    }
    %values = logitile.load %inputViews at [%row, %zero] : !logitile.input_views -> !logitile.inputs<TM x 1>
    %result = logitile.apply @finish(%state, %values) : (!logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.results<TM>
    logitile.store %result to %results at [%row] : !logitile.results<TM> to !logitile.result_views
  }
}

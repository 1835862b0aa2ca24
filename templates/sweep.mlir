// One pass over the vocabulary, which is cut into vocabulary splits so that both axes have tasks.
// The row state of each vocabulary split is stored for @finish. Lists and picks are in memory all
// the time. The launch computes logits, or reads stored ones. If the schedule says so, it stores
// them: in 32 bits as they are, in 16 bits as the base of their exponential, relative to the
// current maximum; or it stores the early part of their gradient. Otherwise the views are empty
// and the stores vanish.
// GROUP is 1, except for sweeps with lists on CPUs. There a task goes through GROUP vocabulary
// splits, which share its lists. The last group may have fewer splits: the missing ones have no
// columns.
logitile.template @sweep<TM, TN, TK, SPLIT, V, GROUP, acc> for sweep(
    %tokenCount: index from tokens, %vocabSplitFirst: index from vocab_split_first, %vocabSplitEnd: index from vocab_split_end,
    %hiddens: !logitile.hiddens, %weights: !logitile.weights, %loaded: !logitile.stored_views,
    %inputViews: !logitile.input_views, %stored: !logitile.logit_views, %bases: !logitile.base_views, %partial: !logitile.state_views,
    %cleared: !logitile.cleared_views, %grads: !logitile.grad_views,
    %lists: !logitile.list_views, %picks: !logitile.pick_views, %centres: !logitile.centre_views) {
  %tm = logitile.param TM
  %tn = logitile.param TN
  %vocabSplitColumns = logitile.param SPLIT
  %v = logitile.param V
  %group = logitile.param GROUP
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokenCount, %vocabSplitEnd) step (%tm, %group) {
    %list = arith.divui %vocab_split, %group : index
    %list_first = arith.muli %vocab_split, %vocabSplitColumns : index
    scf.for %further = %zero to %group step %one {
      %split = arith.addi %vocab_split, %further : index
      %first = arith.muli %split, %vocabSplitColumns : index
      %unclipped = arith.addi %first, %vocabSplitColumns : index
      %end = arith.minui %unclipped, %v : index
      %start = logitile.init_state : !logitile.row_state<TM>
      %state = scf.for %column = %first to %end step %tn iter_args(%running = %start) -> (!logitile.row_state<TM>) {
        %z = logitile.logits of %hiddens, %weights by TK or %loaded at [%row, %column]
            : !logitile.hiddens, !logitile.weights or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
        logitile.store %z to %stored at [%row, %column] : !logitile.logits<TM x TN x acc> to !logitile.logit_views
        %in = logitile.load %inputViews at [%row, %column] : !logitile.input_views -> !logitile.inputs<TM x TN>
        %next = logitile.apply @update(%running, %z, %in) at %column below V
            : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
        logitile.update_lists %lists with (%z, %in : !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>)
            at [%list, %row, %column] from %list_first tokens TM : !logitile.list_views
        logitile.pick_entries %z to [%picks] at [%row, %column] tokens TM below V
            : !logitile.logits<TM x TN x acc> to [!logitile.pick_views]
        %base, %centre = logitile.apply @base(%next, %z, %in) at %column below V
            : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>)
           -> (!logitile.bases<TM x TN x acc>, !logitile.centres<TM>)
        %tile = arith.divui %column, %tn : index
        logitile.store %centre to %centres at [%tile, %row] : !logitile.centres<TM> to !logitile.centre_views
        logitile.store %base to %bases at [%row, %column] : !logitile.bases<TM x TN x acc> to !logitile.base_views
        %g, %ofVocab, %ofDense = logitile.apply @gradient(%z, %in, %centre) at %column below V
            : (!logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>, !logitile.centres<TM>)
           -> (!logitile.grads<TM x TN x acc>, !logitile.vocab_grads<TM x TN x acc>, !logitile.dense_grads<TM x TN x acc>)
        %rest = logitile.sparse_terms clear %g, [%cleared] at [%row, %column] below %tokenCount
            : !logitile.grads<TM x TN x acc>, [!logitile.cleared_views]
        logitile.store %rest to %grads at [%row, %column] : !logitile.grads<TM x TN x acc> to !logitile.grad_views
        scf.yield %next : !logitile.row_state<TM>
      }
      logitile.store %state to %partial at [%split, %row] : !logitile.row_state<TM> to !logitile.state_views
    }
  }
}

// Joins the row states of all vocabulary splits, in their order, and computes the per-token
// results. A finish without a sweep has no row state: then the loop carries nothing.
logitile.template @finish<TM, SPLITS> for finish(
    %tokenCount: index from tokens, %partial: !logitile.state_views,
    %inputViews: !logitile.input_views, %results: !logitile.result_views) {
  %tm = logitile.param TM
  %vocab_splits = logitile.param SPLITS
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.forall (%row) = (0) to (%tokenCount) step (%tm) {
    %in = logitile.load %inputViews at [%row, %zero] : !logitile.input_views -> !logitile.inputs<TM x 1>
    %start = logitile.init_state : !logitile.row_state<TM>
    %state = scf.for %vocab_split = %zero to %vocab_splits step %one iter_args(%running = %start) -> (!logitile.row_state<TM>) {
      %other = logitile.load %partial at [%vocab_split, %row] : !logitile.state_views -> !logitile.row_state<TM>
      %both = logitile.apply @merge(%running, %other, %in)
          : (!logitile.row_state<TM>, !logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.row_state<TM>
      scf.yield %both : !logitile.row_state<TM>
    }
    %result = logitile.apply @finish(%state, %in) : (!logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.results<TM>
    logitile.store %result to %results at [%row] : !logitile.results<TM> to !logitile.result_views
  }
}

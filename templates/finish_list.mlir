// Joins the lists of groups of vocabulary splits or of slices, and sorts them, the best first.
// Computes the results of the finish at each place.
logitile.template @finish_list<TM, LISTS> for list_finish (
    %tokenCount: index from tokens, %lists: !logitile.list_views, %inputViews: !logitile.input_views, %results: !logitile.result_views) {
  %tm = logitile.param TM
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%tokenCount) step (%tm) {
    %in = logitile.load %inputViews at [%row, %zero] : !logitile.input_views -> !logitile.inputs<TM x 1>
    logitile.finish_list %lists with (%in : !logitile.inputs<TM x 1>) at %row tokens TM splits LISTS to %results
        : !logitile.list_views to !logitile.result_views
  }
}

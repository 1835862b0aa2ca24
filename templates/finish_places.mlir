// Computes the results of a finish at each place of the lists that it reads, or their sums over
// all places.
logitile.template @finish_places<TM> for place_finish (
    %tokenCount: index from tokens, %lists: !logitile.place_views, %inputViews: !logitile.input_views, %results: !logitile.result_views) {
  %tm = logitile.param TM
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%tokenCount) step (%tm) {
    %in = logitile.load %inputViews at [%row, %zero] : !logitile.input_views -> !logitile.inputs<TM x 1>
    logitile.finish_places %lists with (%in : !logitile.inputs<TM x 1>) at %row tokens TM to %results
        : !logitile.place_views to !logitile.result_views
  }
}

// Completes a gradient of hidden states that was computed in parts of the vocabulary: adds the
// parts in order, adds sparse terms, and writes rows through the map of tokens, rounded to the type
// of the output.
logitile.template @join_hidden<TM, TD, PARTS, WIDTH, ROW, V, D, in, out> for hidden_end(
    %tokenCount: index from tokens, %map: !logitile.view<? x i32> from token_map, %sum: !logitile.view<? x ROW x f32> from "sum",
    %weight: !logitile.view<V x D x in> from "weight", %factors: !logitile.factor_views, %terms: !logitile.extracted_views,
    %out: !logitile.view<? x D x out> from "out") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  %parts = logitile.param PARTS
  %width = logitile.param WIDTH
  %one = arith.constant 1 : index
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %first = logitile.load %sum at [%row, %column] : !logitile.view<? x ROW x f32> -> !logitile.tile<TM x TD x f32>
    %start = logitile.map(%first) : (!logitile.tile<TM x TD x f32>) -> !logitile.tile<TM x TD x f32> {
    ^bb0(%value: f32):
      logitile.yield %value : f32
    }
    %total = scf.for %part = %one to %parts step %one iter_args(%before = %start) -> (!logitile.tile<TM x TD x f32>) {
      %offset = arith.muli %part, %width : index
      %at = arith.addi %offset, %column : index
      %next = logitile.load %sum at [%row, %at] : !logitile.view<? x ROW x f32> -> !logitile.tile<TM x TD x f32>
      %added = logitile.map(%before, %next) : (!logitile.tile<TM x TD x f32>, !logitile.tile<TM x TD x f32>) -> !logitile.tile<TM x TD x f32> {
      ^bb0(%left: f32, %right: f32):
        %both = arith.addf %left, %right : f32
        logitile.yield %both : f32
      }
      scf.yield %added : !logitile.tile<TM x TD x f32>
    }
    %factor = logitile.load %factors at [%row] : !logitile.factor_views -> !logitile.factors<TM>
    %scaled = logitile.scale_rows %total by %factor : !logitile.tile<TM x TD x f32>, !logitile.factors<TM>
    %exact = logitile.contract_sparse %scaled, [%terms], %weight at [%row, %column] below %tokenCount
        : !logitile.tile<TM x TD x f32>, [!logitile.extracted_views], !logitile.view<V x D x in>
    logitile.store %exact to %out at [%row, %column] through %map
        : !logitile.tile<TM x TD x f32> to !logitile.view<? x D x out>, !logitile.view<? x i32>
  }
}

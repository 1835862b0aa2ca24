// Completes a gradient of hidden states that was summed in parts: adds sparse terms, and writes the
// rows through the map of tokens, rounded to the type of the output.
logitile.template @round_rows<TM, TD, V, D, in, acc, out> for hidden_end(
    %tokenCount: index from tokens, %map: !logitile.view<? x i32> from token_map, %sum: !logitile.view<? x D x acc> from "sum",
    %weight: !logitile.view<V x D x in> from "weight", %terms: !logitile.extracted_views,
    %out: !logitile.view<? x D x out> from "out") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %tile = logitile.load %sum at [%row, %column] : !logitile.view<? x D x acc> -> !logitile.tile<TM x TD x acc>
    %exact = logitile.contract_sparse %tile, [%terms], %weight at [%row, %column] below %tokenCount
        : !logitile.tile<TM x TD x acc>, [!logitile.extracted_views], !logitile.view<V x D x in>
    logitile.store %exact to %out at [%row, %column] through %map
        : !logitile.tile<TM x TD x acc> to !logitile.view<? x D x out>, !logitile.view<? x i32>
  }
}

// Rounds a sum of many parts to the type of its output, rows through the map of tokens.
logitile.template @round_rows<TM, TD, D, acc, out>(
    %tokenCount: index from "tokens", %map: !logitile.view<? x i32> from "map",
    %sum: !logitile.view<? x D x acc> from "sum", %out: !logitile.view<? x D x out> from "out") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %tile = logitile.load %sum at [%row, %column] : !logitile.view<? x D x acc> -> !logitile.tile<TM x TD x acc>
    logitile.store %tile to %out at [%row, %column] through %map
        : !logitile.tile<TM x TD x acc> to !logitile.view<? x D x out>, !logitile.view<? x i32>
  }
}

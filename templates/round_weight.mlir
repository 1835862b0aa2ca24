// Rounds a gradient of the head that was summed over chunks of tokens to the type of its output.
logitile.template @round_weight<TN, TD, V, D, acc, out>(
    %sum: !logitile.view<V x D x acc> from "sum", %out: !logitile.view<V x D x out> from "out") {
  %tn = logitile.param TN
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  scf.forall (%row, %column) = (0, 0) to (%v, %d) step (%tn, %td) {
    %tile = logitile.load %sum at [%row, %column] : !logitile.view<V x D x acc> -> !logitile.tile<TN x TD x acc>
    logitile.store %tile to %out at [%row, %column] : !logitile.tile<TN x TD x acc> to !logitile.view<V x D x out>
  }
}

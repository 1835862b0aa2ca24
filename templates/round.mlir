// Rounds a matrix with a row for each vocabulary entry: a head, once per call, for targets whose
// contractions copy operands from memory as they are; or a gradient that was summed over chunks of
// tokens.
logitile.template @round<TN, TD, V, D, in, tile, out> for round(
    %source: !logitile.view<V x D x in> from "source", %out: !logitile.view<V x D x out> from "out") {
  %tn = logitile.param TN
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  scf.forall (%row, %column) = (0, 0) to (%v, %d) step (%tn, %td) {
    %tile = logitile.load %source at [%row, %column] : !logitile.view<V x D x in> -> !logitile.tile<TN x TD x tile>
    logitile.store %tile to %out at [%row, %column] : !logitile.tile<TN x TD x tile> to !logitile.view<V x D x out>
  }
}

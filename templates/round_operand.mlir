// Rounds a head once per call, for targets whose contractions copy operands from memory as they are.
logitile.template @round_operand<TN, TD, V, D, in, op>(
    %source: !logitile.view<V x D x in> from "source", %rounded: !logitile.view<V x D x op> from "rounded") {
  %tn = logitile.param TN
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  scf.forall (%row, %column) = (0, 0) to (%v, %d) step (%tn, %td) {
    %tile = logitile.load %source at [%row, %column] : !logitile.view<V x D x in> -> !logitile.tile<TN x TD x op>
    logitile.store %tile to %rounded at [%row, %column] : !logitile.tile<TN x TD x op> to !logitile.view<V x D x op>
  }
}

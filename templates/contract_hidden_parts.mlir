// The gradient of hidden states in parts, dX = G W, each over ENTRIES of the vocabulary, a multiple
// of TK. It is used if tokens are so few that its tiles would leave units idle. Parts are side by
// side in the rows of %sum, with WIDTH columns each. @join_hidden adds them.
logitile.template @contract_hidden_parts<TM, TD, TK, PARTS, ENTRIES, WIDTH, ROW, V, D, in, g, acc> for hidden_gradient(
    %tokenCount: index from tokens, %grad: !logitile.view<? x V x g> from "grad",
    %weight: !logitile.view<V x D x in> from "weight", %sum: !logitile.view<? x ROW x acc> from "sum") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  %v = logitile.param V
  %parts = logitile.param PARTS
  %width = logitile.param WIDTH
  %entries = logitile.param ENTRIES
  scf.forall (%row, %part, %column) = (0, 0, 0) to (%tokenCount, %parts, %d) step (%tm, 1, %td) {
    %first = arith.muli %part, %entries : index
    %unclipped = arith.addi %first, %entries : index
    %end = arith.minui %unclipped, %v : index
    %product = logitile.contract %grad, %weight at [%row, %column] over [%first to %end] by TK
        : !logitile.view<? x V x g>, !logitile.view<V x D x in> -> !logitile.tile<TM x TD x acc>
    %offset = arith.muli %part, %width : index
    %at = arith.addi %offset, %column : index
    logitile.store %product to %sum at [%row, %at] : !logitile.tile<TM x TD x acc> to !logitile.view<? x ROW x acc>
  }
}

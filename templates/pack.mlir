// Gathers the rows of an operand that count, in the layout of the packed buffer, which a
// contraction reads.
logitile.template @pack<TM, D, in, op> for pack(
    %tokenCount: index from tokens, %map: !logitile.view<? x i32> from "map",
    %source: !logitile.view<? x D x in> from "source", %packed: !logitile.view<? x D x op> from "packed") {
  %zero = arith.constant 0 : index
  %tm = logitile.param TM
  scf.forall (%row) = (0) to (%tokenCount) step (%tm) {
    %tile = logitile.load %source at [%row, %zero] through %map
        : !logitile.view<? x D x in>, !logitile.view<? x i32> -> !logitile.tile<TM x D x op>
    logitile.store %tile to %packed at [%row, %zero] : !logitile.tile<TM x D x op> to !logitile.view<? x D x op>
  }
}

// The logits of one projection, Z = X W^T, as they are. It is used before a sweep that holds
// several tiles (of projections or of Dense inputs), if registers have room for narrow tiles only,
// and narrow tiles take longer. The sweep then reads the stored logits.
logitile.template @project<TM, TN, TK, SPLIT, V, D, in, op, acc> for project(
    %tokenCount: index from tokens, %vocabSplitFirst: index from vocab_split_first, %vocabSplitEnd: index from vocab_split_end,
    %hidden: !logitile.view<? x D x op> from "hidden", %weight: !logitile.view<V x D x in> from "weight",
    %stored: !logitile.view<? x V x acc> from "stored") {
  %tm = logitile.param TM
  %tn = logitile.param TN
  %vocabSplitColumns = logitile.param SPLIT
  %v = logitile.param V
  %zero = arith.constant 0 : index
  scf.forall (%row, %vocab_split) = (%zero, %vocabSplitFirst) to (%tokenCount, %vocabSplitEnd) step (%tm, 1) {
    %first = arith.muli %vocab_split, %vocabSplitColumns : index
    %unclipped = arith.addi %first, %vocabSplitColumns : index
    %end = arith.minui %unclipped, %v : index
    scf.for %column = %first to %end step %tn {
      %z = logitile.project %hidden, %weight at [%row, %column] by TK
          : !logitile.view<? x D x op>, !logitile.view<V x D x in> -> !logitile.tile<TM x TN x acc>
      logitile.store %z to %stored at [%row, %column] : !logitile.tile<TM x TN x acc> to !logitile.view<? x V x acc>
    }
  }
}

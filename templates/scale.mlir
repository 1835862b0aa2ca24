// Gathers the hidden states of the tokens that count, each times the factor of its token, in the
// layout that a contraction reads.
logitile.template @scale<TM, TD, D, in, op> for scale(
    %tokenCount: index from tokens, %map: !logitile.view<? x i32> from "map", %source: !logitile.view<? x D x in> from "source",
    %factors: !logitile.view<? x f32> from "factor", %scaled: !logitile.view<? x D x op> from "scaled") {
  %tm = logitile.param TM
  %td = logitile.param TD
  %d = logitile.param D
  scf.forall (%row, %column) = (0, 0) to (%tokenCount, %d) step (%tm, %td) {
    %tile = logitile.load %source at [%row, %column] through %map
        : !logitile.view<? x D x in>, !logitile.view<? x i32> -> !logitile.tile<TM x TD x f32>
    %factor = logitile.load %factors at [%row] : !logitile.view<? x f32> -> !logitile.tile<TM x 1 x f32>
    %product = logitile.map(%tile, %factor) : (!logitile.tile<TM x TD x f32>, !logitile.tile<TM x 1 x f32>) -> !logitile.tile<TM x TD x f32> {
    ^bb0(%value: f32, %times: f32):
      %both = arith.mulf %value, %times : f32
      logitile.yield %both : f32
    }
    logitile.store %product to %scaled at [%row, %column] : !logitile.tile<TM x TD x f32> to !logitile.view<? x D x op>
  }
}

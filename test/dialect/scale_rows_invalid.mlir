// RUN: %refused %s

logitile.template @centres<TM, TD, D, acc>(%count: index from tokens, %centres: !logitile.centre_views, %out: !logitile.view<? x D x acc> from "out") {
  %tm = logitile.param TM
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (%tm) {
    %tile = logitile.load %out at [%row, %zero] : !logitile.view<? x D x acc> -> !logitile.tile<TM x TD x acc>
    %centre = logitile.load %centres at [%zero, %row] : !logitile.centre_views -> !logitile.centres<TM>
    // expected-error @+1 {{'logitile.scale_rows' op 'factors' is '!logitile.centres<TM>'}}
    %scaled = logitile.scale_rows %tile by %centre : !logitile.tile<TM x TD x acc>, !logitile.centres<TM>
  }
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK: logitile.scale_rows %{{.*}} by %{{.*}} : !logitile.tile<TM x TD x acc>, !logitile.factors<TM>
logitile.template @scaled<TM, TD, D, acc>(%count: index from tokens, %factors: !logitile.factor_views, %out: !logitile.view<? x D x acc> from "out") {
  %tm = logitile.param TM
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (%tm) {
    %tile = logitile.load %out at [%row, %zero] : !logitile.view<? x D x acc> -> !logitile.tile<TM x TD x acc>
    %factor = logitile.load %factors at [%row] : !logitile.factor_views -> !logitile.factors<TM>
    %scaled = logitile.scale_rows %tile by %factor : !logitile.tile<TM x TD x acc>, !logitile.factors<TM>
    logitile.store %scaled to %out at [%row, %zero] : !logitile.tile<TM x TD x acc> to !logitile.view<? x D x acc>
  }
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// Symbols of both kinds, scalars of the launch, views with roles, and bundles, which have none.
// CHECK-LABEL: logitile.template @copy<TM, D, acc>(
// CHECK-SAME: %[[COUNT:.*]]: index from tokens, %{{.*}}: index from vocab_split_first, %{{.*}}: index from vocab_split_end,
// CHECK-SAME: %{{.*}}: i1 from accumulate, %[[SOURCE:.*]]: !logitile.view<? x D x acc> from "source",
// CHECK-SAME: %[[OUT:.*]]: !logitile.view<? x D x acc> from "out", %{{.*}}: !logitile.weights) attributes {note} {
logitile.template @copy<TM, D, acc>(
    %count: index from tokens, %first: index from vocab_split_first, %end: index from vocab_split_end, %accumulate: i1 from accumulate,
    %source: !logitile.view<? x D x acc> from "source", %out: !logitile.view<? x D x acc> from "out",
    %weights: !logitile.weights) attributes {note} {
  // CHECK-NEXT: %[[TM:.*]] = logitile.param TM
  %tm = logitile.param TM
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
  %zero = arith.constant 0 : index
  // CHECK-NEXT: scf.forall (%[[ROW:.*]]) = (0) to (%[[COUNT]]) step (%[[TM]]) {
  scf.forall (%row) = (0) to (%count) step (%tm) {
    // CHECK-NEXT: %[[TILE:.*]] = logitile.load %[[SOURCE]] at [%[[ROW]], %[[ZERO]]] : !logitile.view<? x D x acc> -> !logitile.tile<TM x D x acc>
    %tile = logitile.load %source at [%row, %zero] : !logitile.view<? x D x acc> -> !logitile.tile<TM x D x acc>
    // CHECK-NEXT: logitile.store %[[TILE]] to %[[OUT]] at [%[[ROW]], %[[ZERO]]] : !logitile.tile<TM x D x acc> to !logitile.view<? x D x acc>
    logitile.store %tile to %out at [%row, %zero] : !logitile.tile<TM x D x acc> to !logitile.view<? x D x acc>
  }
}

// CHECK-LABEL: logitile.template @nothing<>(%{{.*}}: !logitile.weights) {
// CHECK-NEXT: }
logitile.template @nothing<>(%weights: !logitile.weights) {
}

// The purpose of a template, and its backends.
// CHECK-LABEL: logitile.template @served<> for sweep on ["cpu", "cuda"] (%{{.*}}: !logitile.weights) {
logitile.template @served<> for sweep on ["cpu", "cuda"] (%weights: !logitile.weights) {
}
// CHECK-LABEL: logitile.template @everywhere<TM> for pack(%{{.*}}: !logitile.weights) {
logitile.template @everywhere<TM> for pack(%weights: !logitile.weights) {
}

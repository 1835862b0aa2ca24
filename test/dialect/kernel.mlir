// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.kernel @add_one(
// CHECK-SAME: %[[COUNT:.*]]: index from tokens, %[[X:.*]]: !logitile.view<?xf32> from @known_lse,
// CHECK-SAME: %{{.*}}: i1 from accumulate_tokens) attributes {note} {
logitile.kernel @add_one(%count: index from tokens, %x: !logitile.view<?xf32> from @known_lse, %accumulate: i1 from accumulate_tokens) attributes {note} {
  // CHECK-NEXT: scf.forall (%[[ROW:.*]]) = (0) to (%[[COUNT]]) step (64) {
  scf.forall (%row) = (0) to (%count) step (64) {
    // CHECK-NEXT: %[[TILE:.*]] = logitile.load %[[X]] at [%[[ROW]]] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    // CHECK-NEXT: logitile.store %[[TILE]] to %[[X]] at [%[[ROW]]] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

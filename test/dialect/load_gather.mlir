// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @gather
func.func @gather(%vocab: !logitile.view<300xf32>, %dense: !logitile.view<?x300xbf16>, %index: !logitile.tile<64x1xi32>,
                  %map: !logitile.view<?xi32>, %row: index) {
  // CHECK-NEXT: %{{.*}} = logitile.load_gather %{{.*}}[%{{.*}}] : !logitile.view<300xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
  %0 = logitile.load_gather %vocab[%index] : !logitile.view<300xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
  // CHECK-NEXT: %{{.*}} = logitile.load_gather %{{.*}}[%{{.*}}] at %{{.*}} : !logitile.view<?x300xbf16>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
  %1 = logitile.load_gather %dense[%index] at %row : !logitile.view<?x300xbf16>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
  // CHECK-NEXT: %{{.*}} = logitile.load_gather %{{.*}}[%{{.*}}] at %{{.*}} through %{{.*}} : !logitile.view<?x300xbf16>, !logitile.tile<64x1xi32>, !logitile.view<?xi32> -> !logitile.tile<64x1xf32>
  %2 = logitile.load_gather %dense[%index] at %row through %map : !logitile.view<?x300xbf16>, !logitile.tile<64x1xi32>, !logitile.view<?xi32> -> !logitile.tile<64x1xf32>
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @contract_terms
func.func @contract_terms(%tile: !logitile.tile<32x24xf32>, %column: !logitile.view<?xi32>, %coefficient: !logitile.view<?xf32>,
                          %rhs: !logitile.view<300x24xbf16>, %terms: !logitile.taken_views, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.contract_terms %{{.*}}, [%{{.*}}, %{{.*}}], %{{.*}} at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<32x24xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<300x24xbf16>
  %0 = logitile.contract_terms %tile, [%column, %coefficient], %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<300x24xbf16>
  // CHECK-NEXT: %{{.*}} = logitile.contract_terms %{{.*}}, [%{{.*}}] transposed, %{{.*}} at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<32x24xf32>, [!logitile.taken_views], !logitile.view<300x24xbf16>
  %1 = logitile.contract_terms %tile, [%terms] transposed, %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.taken_views], !logitile.view<300x24xbf16>
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @contract_sparse
func.func @contract_sparse(%tile: !logitile.tile<32x24xf32>, %column: !logitile.view<?xi32>, %coefficient: !logitile.view<?xf32>,
                          %rhs: !logitile.view<300x24xbf16>, %terms: !logitile.extracted_views, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.contract_sparse %{{.*}}, [%{{.*}}, %{{.*}}], %{{.*}} at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<32x24xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<300x24xbf16>
  %0 = logitile.contract_sparse %tile, [%column, %coefficient], %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<300x24xbf16>
  // CHECK-NEXT: %{{.*}} = logitile.contract_sparse %{{.*}}, [%{{.*}}] transposed, %{{.*}} at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<32x24xf32>, [!logitile.extracted_views], !logitile.view<300x24xbf16>
  %1 = logitile.contract_sparse %tile, [%terms] transposed, %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.extracted_views], !logitile.view<300x24xbf16>
  return
}

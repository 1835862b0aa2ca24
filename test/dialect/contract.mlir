// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @contract
func.func @contract(%grad: !logitile.view<?x300xbf16>, %weight: !logitile.view<300x24xbf16>, %hidden: !logitile.view<?x24xbf16>,
                    %dx: !logitile.view<?x24xf32>, %dw: !logitile.view<300x24xf32>, %map: !logitile.view<?xi32>, %i: index, %accumulate: i1) {
  // CHECK-NEXT: %{{.*}} = logitile.contract %{{.*}}, %{{.*}} at [%{{.*}}, %{{.*}}] over [%{{.*}} to %{{.*}}] by 64 using panels : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> -> !logitile.tile<32x24xf32>
  %0 = logitile.contract %grad, %weight at [%i, %i] over [%i to %i] by 64 using panels : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> -> !logitile.tile<32x24xf32>
  // CHECK-NEXT: %{{.*}} = logitile.contract %{{.*}}, %{{.*}} at [%{{.*}}, %{{.*}}] over [%{{.*}} to %{{.*}}] by TK plus %{{.*}} when %{{.*}} through %{{.*}} : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> plus !logitile.view<?x24xf32> through !logitile.view<?xi32> -> !logitile.tile<32x24xf32>
  %1 = logitile.contract %grad, %weight at [%i, %i] over [%i to %i] by TK plus %dx when %accumulate through %map : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> plus !logitile.view<?x24xf32> through !logitile.view<?xi32> -> !logitile.tile<32x24xf32>
  // CHECK-NEXT: %{{.*}} = logitile.contract %{{.*}} transposed, %{{.*}} at [%{{.*}}, %{{.*}}] over [%{{.*}} to %{{.*}}] by 64 using panels plus %{{.*}} when %{{.*}} : !logitile.view<?x300xbf16>, !logitile.view<?x24xbf16> plus !logitile.view<300x24xf32> -> !logitile.tile<32x24xf32>
  %2 = logitile.contract %grad transposed, %hidden at [%i, %i] over [%i to %i] by 64 using panels plus %dw when %accumulate : !logitile.view<?x300xbf16>, !logitile.view<?x24xbf16> plus !logitile.view<300x24xf32> -> !logitile.tile<32x24xf32>
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @views
func.func @views(%tile: !logitile.tile<32x64xf32>, %row: !logitile.tile<32x1xf32>, %matrix: !logitile.view<?x64xbf16>,
                 %vector: !logitile.view<?xf32>, %map: !logitile.view<?xi32>, %i: index) {
  // CHECK-NEXT: logitile.store %{{.*}} to %{{.*}} at [%{{.*}}, %{{.*}}] : !logitile.tile<32x64xf32> to !logitile.view<?x64xbf16>
  logitile.store %tile to %matrix at [%i, %i] : !logitile.tile<32x64xf32> to !logitile.view<?x64xbf16>
  // CHECK-NEXT: logitile.store %{{.*}} to %{{.*}} at [%{{.*}}, %{{.*}}] through %{{.*}} : !logitile.tile<32x64xf32> to !logitile.view<?x64xbf16>, !logitile.view<?xi32>
  logitile.store %tile to %matrix at [%i, %i] through %map : !logitile.tile<32x64xf32> to !logitile.view<?x64xbf16>, !logitile.view<?xi32>
  // CHECK-NEXT: logitile.store %{{.*}} to %{{.*}} at [%{{.*}}] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
  logitile.store %row to %vector at [%i] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
  return
}

// CHECK-LABEL: func.func @bundles
func.func @bundles(%grads: !logitile.grads<TM x TN x acc>, %results: !logitile.results<TM>, %grad_views: !logitile.grad_views,
                   %result_views: !logitile.result_views, %i: index) {
  // CHECK-NEXT: logitile.store %{{.*}} to %{{.*}} at [%{{.*}}, %{{.*}}] : !logitile.grads<TM x TN x acc> to !logitile.grad_views
  logitile.store %grads to %grad_views at [%i, %i] : !logitile.grads<TM x TN x acc> to !logitile.grad_views
  // CHECK-NEXT: logitile.store %{{.*}} to %{{.*}} at [%{{.*}}] : !logitile.results<TM> to !logitile.result_views
  logitile.store %results to %result_views at [%i] : !logitile.results<TM> to !logitile.result_views
  return
}

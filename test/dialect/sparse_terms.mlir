// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @terms
func.func @terms(%tile: !logitile.tile<64x32xf32>, %row: !logitile.tile<1x32xf32>, %column: !logitile.view<?xi32>, %coefficient: !logitile.view<?xf32>, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.sparse_terms add %{{.*}}, [%{{.*}}, %{{.*}}] at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
  %0 = logitile.sparse_terms add %tile, [%column, %coefficient] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
  // CHECK-NEXT: %{{.*}} = logitile.sparse_terms extract %{{.*}}, [%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>, !logitile.view<?xi32>, !logitile.view<?xf32>]
  %1 = logitile.sparse_terms extract %tile, [%column, %coefficient, %column, %coefficient] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>, !logitile.view<?xi32>, !logitile.view<?xf32>]
  // CHECK-NEXT: %{{.*}} = logitile.sparse_terms sum %{{.*}}, [%{{.*}}, %{{.*}}] at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<1x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
  %2 = logitile.sparse_terms sum %row, [%column, %coefficient] at [%i, %i] below %i : !logitile.tile<1x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
  // CHECK-NEXT: %{{.*}} = logitile.sparse_terms clear %{{.*}}, [%{{.*}}] at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>]
  %3 = logitile.sparse_terms clear %tile, [%column] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>]
  return
}

// CHECK-LABEL: func.func @bundles
func.func @bundles(%grads: !logitile.grads<TM x TN x acc>, %row: !logitile.tile<1 x TN x acc>, %added: !logitile.sparse_views, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.sparse_terms add %{{.*}}, [%{{.*}}] at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.grads<TM x TN x acc>, [!logitile.sparse_views]
  %0 = logitile.sparse_terms add %grads, [%added] at [%i, %i] below %i : !logitile.grads<TM x TN x acc>, [!logitile.sparse_views]
  // CHECK-NEXT: %{{.*}} = logitile.sparse_terms sum %{{.*}}, [%{{.*}}] at [%{{.*}}, %{{.*}}] below %{{.*}} : !logitile.tile<1 x TN x acc>, [!logitile.sparse_views]
  %1 = logitile.sparse_terms sum %row, [%added] at [%i, %i] below %i : !logitile.tile<1 x TN x acc>, [!logitile.sparse_views]
  return
}

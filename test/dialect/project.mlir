// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @project
func.func @project(%hidden: !logitile.view<?x24xf32, row_panels>, %weight: !logitile.view<300x24xf32>, %hiddens: !logitile.hiddens,
                   %weights: !logitile.weights, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.project %{{.*}}, %{{.*}} at [%{{.*}}, %{{.*}}] by 512 using panels : !logitile.view<?x24xf32, row_panels>, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
  %0 = logitile.project %hidden, %weight at [%i, %i] by 512 using panels : !logitile.view<?x24xf32, row_panels>, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
  // CHECK-NEXT: %{{.*}} = logitile.project %{{.*}}, %{{.*}} at [%{{.*}}, %{{.*}}] by TK {note} : !logitile.hiddens, !logitile.weights -> !logitile.logits<TM x TN x acc>
  %1 = logitile.project %hiddens, %weights at [%i, %i] by TK {note} : !logitile.hiddens, !logitile.weights -> !logitile.logits<TM x TN x acc>
  return
}

// A symbol equals itself.
// CHECK-LABEL: func.func @symbols
func.func @symbols(%hidden: !logitile.view<? x D x in>, %weight: !logitile.view<V x D x in>, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.project %{{.*}}, %{{.*}} at [%{{.*}}, %{{.*}}] by TK : !logitile.view<? x D x in>, !logitile.view<V x D x in> -> !logitile.tile<TM x TN x acc>
  %0 = logitile.project %hidden, %weight at [%i, %i] by TK : !logitile.view<? x D x in>, !logitile.view<V x D x in> -> !logitile.tile<TM x TN x acc>
  return
}

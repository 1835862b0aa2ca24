// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @logits
func.func @logits(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %stored: !logitile.stored_views, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.logits of %{{.*}}, %{{.*}} by TK or %{{.*}} at [%{{.*}}, %{{.*}}] {note} : !logitile.hiddens, !logitile.weights or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
  %0 = logitile.logits of %hiddens, %weights by TK or %stored at [%i, %i] {note} : !logitile.hiddens, !logitile.weights or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @in_a_template
func.func @in_a_template(%picks: !logitile.pick_views, %z: !logitile.logits<TM x TN x acc>, %i: index) {
  // CHECK-NEXT: logitile.pick_entries %{{.*}} to [%{{.*}}] at [%{{.*}}, %{{.*}}] tokens TM below V : !logitile.logits<TM x TN x acc> to [!logitile.pick_views]
  logitile.pick_entries %z to [%picks] at [%i, %i] tokens TM below V : !logitile.logits<TM x TN x acc> to [!logitile.pick_views]
  return
}

// CHECK-LABEL: func.func @in_a_kernel
func.func @in_a_kernel(%a: !logitile.view<?x8xi32, column_major>, %b: !logitile.view<?x8xf32, column_major>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // CHECK-NEXT: logitile.pick_entries %{{.*}} to [%{{.*}}, %{{.*}}] at [%{{.*}}, %{{.*}}] tokens 64 below 1000 : !logitile.tile<64x32xf32>
  // CHECK-SAME: to [!logitile.view<?x8xi32, column_major>, !logitile.view<?x8xf32, column_major>]
  logitile.pick_entries %z to [%a, %b] at [%i, %i] tokens 64 below 1000
      : !logitile.tile<64x32xf32> to [!logitile.view<?x8xi32, column_major>, !logitile.view<?x8xf32, column_major>]
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @in_a_template
func.func @in_a_template(%lists: !logitile.list_views, %z: !logitile.logits<TM x TN x acc>, %i: index) {
  // CHECK-NEXT: logitile.update_lists %{{.*}} with(%{{.*}} : !logitile.logits<TM x TN x acc>) at [%{{.*}}, %{{.*}}, %{{.*}}] from %{{.*}} tokens TM : !logitile.list_views
  logitile.update_lists %lists with (%z : !logitile.logits<TM x TN x acc>) at [%i, %i, %i] from %i tokens TM : !logitile.list_views
  return
}

// CHECK-LABEL: func.func @in_a_kernel
func.func @in_a_kernel(%a: !logitile.view<?x100xi64>, %b: !logitile.view<?x8xi64>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // CHECK-NEXT: logitile.update_lists %{{.*}}, %{{.*}} with(%{{.*}} : !logitile.tile<64x32xf32>) at [%{{.*}}, %{{.*}}, %{{.*}}] from %{{.*}} tokens 64 places [50, 4] :
  // CHECK-SAME: !logitile.view<?x100xi64>, !logitile.view<?x8xi64> {
  // CHECK-NEXT: ^bb0(%[[Z:.*]]: f32):
  // CHECK-NEXT: logitile.yield %[[Z]], %[[Z]] : f32, f32
  logitile.update_lists %a, %b with (%z : !logitile.tile<64x32xf32>) at [%i, %i, %i] from %i tokens 64 places [50, 4]
      : !logitile.view<?x100xi64>, !logitile.view<?x8xi64> {
  ^bb0(%x: f32):
    logitile.yield %x, %x : f32, f32
  }
  return
}

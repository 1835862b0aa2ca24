// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @in_a_template
func.func @in_a_template(%list: !logitile.list_views, %in: !logitile.inputs<TM x 1>, %out: !logitile.result_views, %i: index) {
  // CHECK-NEXT: logitile.finish_list %{{.*}} with(%{{.*}} : !logitile.inputs<TM x 1>) at %{{.*}} tokens TM splits SPLITS to %{{.*}} : !logitile.list_views to !logitile.result_views
  logitile.finish_list %list with (%in : !logitile.inputs<TM x 1>) at %i tokens TM splits SPLITS to %out : !logitile.list_views to !logitile.result_views
  return
}

// CHECK-LABEL: func.func @in_a_kernel
func.func @in_a_kernel(%list: !logitile.view<?x100xi64>, %v: !logitile.view<?x50xf32>, %n: !logitile.view<?x50xi32>, %i: index) {
  // CHECK-NEXT: logitile.finish_list %{{.*}} at %{{.*}} tokens 64 splits 2 places 50 to %{{.*}}, %{{.*}} :
  // CHECK-SAME: !logitile.view<?x100xi64> to !logitile.view<?x50xf32>, !logitile.view<?x50xi32> {
  logitile.finish_list %list at %i tokens 64 splits 2 places 50 to %v, %n
      : !logitile.view<?x100xi64> to !logitile.view<?x50xf32>, !logitile.view<?x50xi32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value, %index : f32, i32
  }
  return
}

// CHECK-LABEL: func.func @of_slices
func.func @of_slices(%a: !logitile.view<?x5xf32>, %b: !logitile.view<?x5xi32>, %v: !logitile.view<?xf32>, %i: index) {
  // CHECK-NEXT: logitile.finish_list %{{.*}}, %{{.*}} at %{{.*}} tokens 64 splits 1 places 5 place 0 to %{{.*}} :
  // CHECK-SAME: !logitile.view<?x5xf32>, !logitile.view<?x5xi32> to !logitile.view<?xf32> {
  logitile.finish_list %a, %b at %i tokens 64 splits 1 places 5 place 0 to %v : !logitile.view<?x5xf32>, !logitile.view<?x5xi32> to !logitile.view<?xf32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @in_a_template
func.func @in_a_template(%lists: !logitile.place_views, %in: !logitile.inputs<TM x 1>, %out: !logitile.result_views, %i: index) {
  // CHECK-NEXT: logitile.finish_places %{{.*}} with(%{{.*}} : !logitile.inputs<TM x 1>) at %{{.*}} tokens TM to %{{.*}} : !logitile.place_views to !logitile.result_views
  logitile.finish_places %lists with (%in : !logitile.inputs<TM x 1>) at %i tokens TM to %out : !logitile.place_views to !logitile.result_views
  return
}

// One list in memory, one of a Vocab input at indices, and one of a Dense input at the same
// indices.
// CHECK-LABEL: func.func @in_a_kernel
func.func @in_a_kernel(%a: !logitile.view<?x8xf32>, %ids: !logitile.view<?x8xi32>, %bias: !logitile.view<100xf32>, %mask: !logitile.view<?x100xi1>,
                       %map: !logitile.view<?xi32>, %t: !logitile.tile<64x1xf32>, %sum: !logitile.view<?xf32>, %list: !logitile.view<?x8xf32>, %i: index) {
  // CHECK-NEXT: logitile.finish_places %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} with(%{{.*}} : !logitile.tile<64x1xf32>) at %{{.*}} tokens 64 places 8 reads [1, 2, 3] summed to
  // CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i1, %{{.*}}: f32):
  logitile.finish_places %a, %ids, %bias, %ids, %mask, %map with (%t : !logitile.tile<64x1xf32>) at %i tokens 64 places 8 reads [1, 2, 3] summed to %sum
      : !logitile.view<?x8xf32>, !logitile.view<?x8xi32>, !logitile.view<100xf32>, !logitile.view<?x8xi32>, !logitile.view<?x100xi1>, !logitile.view<?xi32>
        to !logitile.view<?xf32> {
  ^bb0(%x: f32, %b: f32, %m: i1, %u: f32):
    %y = arith.select %m, %x, %b : f32
    logitile.yield %y : f32
  }
  // CHECK: logitile.finish_places %{{.*}} at %{{.*}} tokens 64 places 8 reads [1] to %{{.*}} : !logitile.view<?x8xf32> to !logitile.view<?x8xf32> {
  logitile.finish_places %a at %i tokens 64 places 8 reads [1] to %list : !logitile.view<?x8xf32> to !logitile.view<?x8xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  // CHECK: logitile.finish_places with(%{{.*}} : !logitile.tile<64x1xf32>) at %{{.*}} tokens 64 places 8 reads [] to %{{.*}} to !logitile.view<?x8xf32> {
  logitile.finish_places with (%t : !logitile.tile<64x1xf32>) at %i tokens 64 places 8 reads [] to %list to !logitile.view<?x8xf32> {
  ^bb0(%u: f32):
    logitile.yield %u : f32
  }
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @sum_rows
func.func @sum_rows(%partial: !logitile.view<?x300xf32>, %out: !logitile.view<1x300xf32>, %i: index, %accumulate: i1) {
  // CHECK-NEXT: %{{.*}} = logitile.sum_rows %{{.*}} at %{{.*}} below %{{.*}} : !logitile.view<?x300xf32> -> !logitile.tile<1x64xf32>
  %0 = logitile.sum_rows %partial at %i below %i : !logitile.view<?x300xf32> -> !logitile.tile<1x64xf32>
  // CHECK-NEXT: %{{.*}} = logitile.sum_rows %{{.*}} at %{{.*}} below %{{.*}} plus %{{.*}} when %{{.*}} : !logitile.view<?x300xf32> plus !logitile.view<1x300xf32> -> !logitile.tile<1x64xf32>
  %1 = logitile.sum_rows %partial at %i below %i plus %out when %accumulate : !logitile.view<?x300xf32> plus !logitile.view<1x300xf32> -> !logitile.tile<1x64xf32>
  return
}

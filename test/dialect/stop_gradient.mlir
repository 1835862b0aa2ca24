// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @stop_gradient(
// CHECK-SAME: %[[X:.*]]: f32)
func.func @stop_gradient(%x: f32) {
  // CHECK-NEXT: %{{.*}} = logitile.stop_gradient %[[X]] : f32
  %0 = logitile.stop_gradient %x : f32
  return
}

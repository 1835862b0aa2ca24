// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @weigh(
// CHECK-SAME: %[[W:.*]]: f32, %[[X:.*]]: f32)
func.func @weigh(%w: f32, %x: f32) {
  // CHECK-NEXT: %{{.*}} = logitile.weigh %[[W]], %[[X]] : f32
  %0 = logitile.weigh %w, %x : f32
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @multiply_no_nan(
// CHECK-SAME: %[[W:.*]]: f32, %[[X:.*]]: f32)
func.func @multiply_no_nan(%w: f32, %x: f32) {
  // CHECK-NEXT: %{{.*}} = logitile.multiply_no_nan %[[W]], %[[X]] : f32
  %0 = logitile.multiply_no_nan %w, %x : f32
  return
}

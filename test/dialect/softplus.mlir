// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @softplus(
// CHECK-SAME: %[[X:.*]]: f32)
func.func @softplus(%x: f32) {
  // CHECK-NEXT: %{{.*}} = logitile.softplus %[[X]] : f32
  %0 = logitile.softplus %x : f32
  return
}

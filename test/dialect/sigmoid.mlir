// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @sigmoid(
// CHECK-SAME: %[[X:.*]]: f32)
func.func @sigmoid(%x: f32) {
  // CHECK-NEXT: %{{.*}} = logitile.sigmoid %[[X]] : f32
  %0 = logitile.sigmoid %x : f32
  return
}

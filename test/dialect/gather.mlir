// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @every_type(
// CHECK-SAME: %[[X:.*]]: f32, %[[N:.*]]: i32, %[[B:.*]]: i1, %[[INDEX:.*]]: i32)
func.func @every_type(%x: f32, %n: i32, %b: i1, %index: i32) {
  // CHECK-NEXT: %{{.*}} = logitile.gather %[[X]][%[[INDEX]]] : f32
  %0 = logitile.gather %x[%index] : f32
  // CHECK-NEXT: %{{.*}} = logitile.gather %[[N]][%[[INDEX]]] : i32
  %1 = logitile.gather %n[%index] : i32
  // CHECK-NEXT: %{{.*}} = logitile.gather %[[B]][%[[INDEX]]] : i1
  %2 = logitile.gather %b[%index] : i1
  return
}

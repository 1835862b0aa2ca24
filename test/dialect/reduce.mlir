// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @every_combiner(
// CHECK-SAME: %[[X:.*]]: f32, %[[B:.*]]: i1)
func.func @every_combiner(%x: f32, %b: i1) {
  // CHECK-NEXT: %{{.*}} = logitile.reduce sum %[[X]] : f32 -> f32
  %0 = logitile.reduce sum %x : f32 -> f32
  // CHECK-NEXT: %{{.*}} = logitile.reduce sum verbatim %[[X]] : f32 -> f32
  %verbatim = logitile.reduce sum verbatim %x : f32 -> f32
  // CHECK-NEXT: %{{.*}} = logitile.reduce mean %[[X]] : f32 -> f32
  %1 = logitile.reduce mean %x : f32 -> f32
  // CHECK-NEXT: %{{.*}} = logitile.reduce max %[[X]] : f32 -> f32
  %2 = logitile.reduce max %x : f32 -> f32
  // CHECK-NEXT: %{{.*}} = logitile.reduce min %[[X]] : f32 -> f32
  %3 = logitile.reduce min %x : f32 -> f32
  // CHECK-NEXT: %{{.*}} = logitile.reduce argmax %[[X]] : f32 -> i32
  %4 = logitile.reduce argmax %x : f32 -> i32
  // CHECK-NEXT: %{{.*}} = logitile.reduce argmin %[[X]] : f32 -> i32
  %5 = logitile.reduce argmin %x : f32 -> i32
  // CHECK-NEXT: %{{.*}} = logitile.reduce logsumexp %[[X]] : f32 -> f32
  %6 = logitile.reduce logsumexp %x : f32 -> f32
  // CHECK-NEXT: %{{.*}} = logitile.reduce count %[[B]] : i1 -> i32
  %7 = logitile.reduce count %b : i1 -> i32
  // CHECK-NEXT: %{{.*}} = logitile.reduce any %[[B]] : i1 -> i1
  %8 = logitile.reduce any %b : i1 -> i1
  // CHECK-NEXT: %{{.*}} = logitile.reduce all %[[B]] : i1 -> i1
  %9 = logitile.reduce all %b : i1 -> i1
  // CHECK-NEXT: %{{.*}} = logitile.reduce top %[[X]] places 50 : f32 -> f32
  %10 = logitile.reduce top %x places 50 : f32 -> f32
  // CHECK-NEXT: %{{.*}} = logitile.reduce argtop %[[X]] places 1 : f32 -> i32
  %11 = logitile.reduce argtop %x places 1 : f32 -> i32
  return
}

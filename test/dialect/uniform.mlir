// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @uniform(
// CHECK-SAME: %[[SEED:.*]]: i32, %[[STREAM:.*]]: i32, %[[TOKEN:.*]]: i32, %[[COLUMN:.*]]: i32)
func.func @uniform(%seed: i32, %stream: i32, %token: i32, %column: i32) {
  // CHECK-NEXT: %{{.*}} = logitile.uniform %[[SEED]], %[[STREAM]], %[[TOKEN]], %[[COLUMN]] : f32
  %0 = logitile.uniform %seed, %stream, %token, %column : f32
  return
}

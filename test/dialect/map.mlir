// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @map(
// CHECK-SAME: %[[Z:.*]]: !logitile.tile<64x32xf32>, %[[LSE:.*]]: !logitile.tile<64x1xf32>, %[[BIAS:.*]]: !logitile.tile<1x32xf32>,
// CHECK-SAME: %[[SCALE:.*]]: !logitile.tile<1x1xf32>, %[[COLUMN:.*]]: index)
func.func @map(%z: !logitile.tile<64x32xf32>, %lse: !logitile.tile<64x1xf32>, %bias: !logitile.tile<1x32xf32>, %scale: !logitile.tile<1x1xf32>,
               %column: index) {
  // CHECK-NEXT: %{{.*}}:2 = logitile.map(%[[Z]], %[[LSE]], %[[BIAS]], %[[SCALE]]) at %[[COLUMN]] {note} :
  // CHECK-SAME: (!logitile.tile<64x32xf32>, !logitile.tile<64x1xf32>, !logitile.tile<1x32xf32>, !logitile.tile<1x1xf32>) ->
  // CHECK-SAME: (!logitile.tile<64x32xf32>, !logitile.tile<64x32xi32>) {
  %0:2 = logitile.map(%z, %lse, %bias, %scale) at %column {note}
      : (!logitile.tile<64x32xf32>, !logitile.tile<64x1xf32>, !logitile.tile<1x32xf32>, !logitile.tile<1x1xf32>)
     -> (!logitile.tile<64x32xf32>, !logitile.tile<64x32xi32>) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    // CHECK-NEXT: %[[X:.*]] = logitile.multiply_no_nan %[[A]], %[[B]] : f32
    %x = logitile.multiply_no_nan %a, %b : f32
    // CHECK-NEXT: %[[C:.*]] = logitile.column : i32
    %column_in = logitile.column : i32
    // CHECK-NEXT: logitile.yield %[[X]], %[[C]] : f32, i32
    logitile.yield %x, %column_in : f32, i32
  }
  // CHECK: %{{.*}} = logitile.map(%[[LSE]]) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
  %1 = logitile.map(%lse) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
  ^bb0(%a: f32):
    logitile.yield %a : f32
  }
  // CHECK: %{{.*}} = logitile.map(%[[LSE]], %[[LSE]]) merges : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
  %merged = logitile.map(%lse, %lse) merges : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  // CHECK: %{{.*}} = logitile.map() : () -> !logitile.tile<64x1xf32> {
  %2 = logitile.map() : () -> !logitile.tile<64x1xf32> {
    %one = arith.constant 1.0 : f32
    logitile.yield %one : f32
  }
  return
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @update_state(
// CHECK-SAME: %[[MAX:.*]]: !logitile.tile<64x1xf32>, %[[SUM:.*]]: !logitile.tile<64x1xf32>, %[[Z:.*]]: !logitile.tile<64x32xf32>,
// CHECK-SAME: %[[BIAS:.*]]: !logitile.tile<1x32xf32>, %[[TARGET:.*]]: !logitile.tile<64x1xi32>, %[[COLUMN:.*]]: index)
func.func @update_state(%max: !logitile.tile<64x1xf32>, %sum: !logitile.tile<64x1xf32>, %z: !logitile.tile<64x32xf32>,
                       %bias: !logitile.tile<1x32xf32>, %target: !logitile.tile<64x1xi32>, %column: index) {
  // CHECK-NEXT: %{{.*}}:2 = logitile.update_state(%[[MAX]], %[[SUM]]) with(%[[Z]], %[[BIAS]], %[[TARGET]]) at %[[COLUMN]] below 300 attributes {note} :
  // CHECK-SAME: (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>, !logitile.tile<1x32xf32>, !logitile.tile<64x1xi32>) init {
  %next:2 = logitile.update_state(%max, %sum) with (%z, %bias, %target) at %column below 300 attributes {note}
      : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>, !logitile.tile<1x32xf32>, !logitile.tile<64x1xi32>) init {
    %zero = arith.constant 0.0 : f32
    // CHECK: logitile.yield %{{.*}}, %{{.*}} : f32, f32
    // CHECK-NEXT: } candidate {
    // CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32, %{{.*}}: i32):
    // CHECK-NEXT: logitile.yield %[[IN]] : f32
    logitile.yield %zero, %zero : f32, f32
  } candidate {
  ^bb0(%z_in: f32, %bias_in: f32, %target_in: i32):
    logitile.yield %z_in : f32
    // CHECK-NEXT: } update {
    // CHECK-NEXT: ^bb0(%[[M:.*]]: f32, %[[S:.*]]: f32, %[[U:.*]]: f32, %[[B:.*]]: f32, %[[T:.*]]: i32):
  } update {
  ^bb0(%m: f32, %s: f32, %z_in: f32, %bias_in: f32, %target_in: i32):
    // CHECK-NEXT: %[[C:.*]] = logitile.column : i32
    %c = logitile.column : i32
    // CHECK-NEXT: %[[IS:.*]] = arith.cmpi eq, %[[C]], %[[T]] : i32
    %is = arith.cmpi eq, %c, %target_in : i32
    // CHECK-NEXT: %[[X:.*]] = arith.select %[[IS]], %[[U]], %[[B]] : f32
    %x = arith.select %is, %z_in, %bias_in : f32
    // CHECK-NEXT: logitile.yield %[[M]], %[[X]] : f32, f32
    logitile.yield %m, %x : f32, f32
    // CHECK-NEXT: } merge {
    // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %[[MB:.*]]: f32, %[[SB:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i32):
    // CHECK-NEXT: logitile.yield %[[MB]], %[[SB]] : f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %z_in: f32, %bias_in: f32, %target_in: i32):
    logitile.yield %mb, %sb : f32, f32
  }
  return
}

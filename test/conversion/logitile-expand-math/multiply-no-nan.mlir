// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s
// A weight of 0 wins over whatever it weighs.

// CHECK-LABEL: func.func @multiply_no_nan(
// CHECK-SAME: %[[W:.*]]: f32, %[[X:.*]]: f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[IS_ZERO:.*]] = arith.cmpf oeq, %[[W]], %{{.*}} : f32
// CHECK-DAG: %[[PRODUCT:.*]] = arith.mulf %[[W]], %[[X]] : f32
// CHECK: %[[RESULT:.*]] = arith.select %[[IS_ZERO]], %{{.*}}, %[[PRODUCT]] : f32
// CHECK: return %[[RESULT]]
func.func @multiply_no_nan(%w: f32, %x: f32) -> f32 {
  %y = logitile.multiply_no_nan %w, %x : f32
  return %y : f32
}

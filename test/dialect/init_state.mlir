// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @in_a_template
func.func @in_a_template() {
  // CHECK-NEXT: %{{.*}} = logitile.init_state : !logitile.row_state<TM>
  %0 = logitile.init_state : !logitile.row_state<TM>
  return
}

// CHECK-LABEL: func.func @in_a_kernel
func.func @in_a_kernel() {
  // CHECK-NEXT: %{{.*}}:2 = logitile.init_state {note} : !logitile.tile<64x1xf32>, !logitile.tile<64x1xi32> {
  %0:2 = logitile.init_state {note} : !logitile.tile<64x1xf32>, !logitile.tile<64x1xi32> {
    // CHECK-NEXT: %[[A:.*]] = arith.constant 1.000000e+00 : f32
    %a = arith.constant 1.0 : f32
    // CHECK-NEXT: %[[B:.*]] = arith.constant 2 : i32
    %b = arith.constant 2 : i32
    // CHECK-NEXT: logitile.yield %[[A]], %[[B]] : f32, i32
    logitile.yield %a, %b : f32, i32
  }
  return
}

// RUN: logitile-opt --canonicalize %s | FileCheck %s

// A sum that overwrites its memory does not read it.
// CHECK-LABEL: func.func @never_again
func.func @never_again(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %plus: !logitile.view<?x24xf32>, %i: index)
    -> (!logitile.tile<4x4xf32>, !logitile.tile<1x4xf32>) {
  %no = arith.constant false
  // CHECK: logitile.contract %{{.*}}, %{{.*}} at [%{{.*}}, %{{.*}}] over [%{{.*}} to %{{.*}}] by 8 using rank_updates :
  %0 = logitile.contract %lhs, %rhs at [%i, %i] over [%i to %i] by 8 using rank_updates plus %plus when %no
      : !logitile.view<?x300xf32>, !logitile.view<300x24xf32> plus !logitile.view<?x24xf32> -> !logitile.tile<4x4xf32>
  // CHECK: logitile.sum_rows %{{.*}} at %{{.*}} below %{{.*}} : !logitile.view<?x24xf32> ->
  %1 = logitile.sum_rows %plus at %i below %i plus %plus when %no
      : !logitile.view<?x24xf32> plus !logitile.view<?x24xf32> -> !logitile.tile<1x4xf32>
  return %0, %1 : !logitile.tile<4x4xf32>, !logitile.tile<1x4xf32>
}

// CHECK-LABEL: func.func @perhaps_again(
// CHECK-SAME: %[[AGAIN:[a-z0-9]+]]: i1)
func.func @perhaps_again(%partial: !logitile.view<?x24xf32>, %out: !logitile.view<1x24xf32>, %i: index, %accumulate: i1)
    -> (!logitile.tile<1x4xf32>, !logitile.tile<1x4xf32>) {
  // CHECK: %[[YES:.*]] = arith.constant true
  %yes = arith.constant true
  // CHECK: logitile.sum_rows %{{.*}} at %{{.*}} below %{{.*}} plus %{{.*}} when %[[AGAIN]]
  %0 = logitile.sum_rows %partial at %i below %i plus %out when %accumulate
      : !logitile.view<?x24xf32> plus !logitile.view<1x24xf32> -> !logitile.tile<1x4xf32>
  // CHECK: logitile.sum_rows %{{.*}} at %{{.*}} below %{{.*}} plus %{{.*}} when %[[YES]]
  %1 = logitile.sum_rows %partial at %i below %i plus %out when %yes
      : !logitile.view<?x24xf32> plus !logitile.view<1x24xf32> -> !logitile.tile<1x4xf32>
  return %0, %1 : !logitile.tile<1x4xf32>, !logitile.tile<1x4xf32>
}

// Constants stay in the scalar regions that use them.
// CHECK-LABEL: func.func @constants_stay_inside
func.func @constants_stay_inside(%x: !logitile.tile<4x8xf32>) -> !logitile.tile<4x8xf32> {
  // CHECK-NEXT: logitile.map
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x8xf32> {
  ^bb0(%a: f32):
    // CHECK: arith.constant 3.000000e+00 : f32
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %three = arith.addf %one, %two : f32
    %b = arith.mulf %a, %three : f32
    logitile.yield %b : f32
  }
  return %0 : !logitile.tile<4x8xf32>
}

// Unused ops are removed, unless they write memory or belong to the loss's interface.
// CHECK-LABEL: func.func @unused
func.func @unused(%x: !logitile.view<?x8xf32>, %tile: !logitile.tile<4x8xf32>, %i: index) {
  // CHECK-NOT: logitile.load
  %0 = logitile.load %x at [%i, %i] : !logitile.view<?x8xf32> -> !logitile.tile<4x8xf32>
  // CHECK: logitile.store
  logitile.store %tile to %x at [%i, %i] : !logitile.tile<4x8xf32> to !logitile.view<?x8xf32>
  // CHECK-NEXT: return
  return
}

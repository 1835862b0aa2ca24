// RUN: logitile-opt %s --logitile-expand-math=target=cuda:sm_80 | FileCheck %s
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s --check-prefix=WITHOUT
// An exponential that may be approximate is h^2 (1 + r), where there is an instruction for 2^x: h =
// 2^(x / (2 log 2)), of a rounded exponent, and r what that lost of x. Beyond the bounds of x
// nothing is lost, or r would be of any size.

// CHECK-LABEL: func.func @exp(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK: %[[BELOW:.*]] = arith.minimumf %[[X]], %{{.*}} : f32
// CHECK: %[[INSIDE:.*]] = arith.maximumf %[[BELOW]], %{{.*}} : f32
// CHECK: %[[HALF:.*]] = arith.mulf %[[INSIDE]], %{{.*}} : f32
// CHECK: %[[REST:.*]] = math.fma %[[HALF]], %{{.*}}, %[[INSIDE]] : f32
// CHECK: %[[MORE:.*]] = math.fma %[[HALF]], %{{.*}}, %[[REST]] : f32
// CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[HALF]]) : (f32) -> f32
// CHECK: %[[NEAR:.*]] = math.fma %[[ROOT]], %[[MORE]], %[[ROOT]] : f32
// CHECK: arith.mulf %[[ROOT]], %[[NEAR]] : f32
// CHECK-NOT: math.exp
// WITHOUT-NOT: call_intrinsic
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x fastmath<afn> : f32
  return %y : f32
}

// CHECK-LABEL: func.func @exact(
// CHECK-NOT: call_intrinsic
func.func @exact(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @exp2(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK-NEXT: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X]]) : (f32) -> f32
// CHECK-NEXT: return %[[POWER]] : f32
func.func @exp2(%x: f32) -> f32 {
  %y = math.exp2 %x fastmath<afn> : f32
  return %y : f32
}

// CHECK-LABEL: func.func @exact2(
// CHECK-NOT: call_intrinsic
func.func @exact2(%x: f32) -> f32 {
  %y = math.exp2 %x : f32
  return %y : f32
}

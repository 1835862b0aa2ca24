// RUN: logitile-opt %s --logitile-expand-math=target=cuda:sm_80 | FileCheck %s
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s --check-prefix=WITHOUT
// Where there is an instruction for 2^x, e^x is (2^h)^2 (1 + r), with h = x / (2 log 2) rounded and r what that lost of x.

// CHECK-LABEL: func.func @exp(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK: %[[HALF:.*]] = arith.mulf %[[X]], %{{.*}} : f32
// CHECK: %[[REST:.*]] = math.fma %[[HALF]], %{{.*}}, %[[X]] : f32
// CHECK: %[[MORE:.*]] = math.fma %[[HALF]], %{{.*}}, %[[REST]] : f32
// CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[HALF]]) : (f32) -> f32
// CHECK: %[[NUMBER:.*]] = arith.minnumf %[[MORE]], %{{.*}} : f32
// CHECK: %[[FACTOR:.*]] = arith.addf %[[NUMBER]], %{{.*}} : f32
// CHECK: %[[ONCE:.*]] = arith.mulf %[[ROOT]], %[[FACTOR]] : f32
// CHECK: arith.mulf %[[ONCE]], %[[ROOT]] : f32
// CHECK-NOT: math.exp
// WITHOUT-NOT: call_intrinsic
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

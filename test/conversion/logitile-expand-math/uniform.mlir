// Random numbers are integer arithmetic, with a multiplication of 32 by 32 bits, and one rounding.

// The first round: both products of the counter (column, token, 0, 0), of which one is of zeros;
// the key (seed, stream).
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s
// CHECK-LABEL: func.func @uniform(
// CHECK-SAME: %[[SEED:.*]]: i32, %[[STREAM:.*]]: i32, %[[TOKEN:.*]]: i32, %[[COLUMN:.*]]: i32)
// CHECK: %[[M0:.*]] = arith.constant -766435501 : i32
// CHECK: %[[LOW0:.*]], %[[HIGH0:.*]] = arith.mului_extended %[[COLUMN]], %[[M0]] : i32
// CHECK: %[[M1:.*]] = arith.constant -845247145 : i32
// CHECK: %[[LOW1:.*]], %[[HIGH1:.*]] = arith.mului_extended %{{.*}}, %[[M1]] : i32
// CHECK: %[[X:.*]] = arith.xori %[[HIGH1]], %[[TOKEN]] : i32
// CHECK: arith.xori %[[X]], %[[SEED]] : i32
// CHECK: %[[Y:.*]] = arith.xori %[[HIGH0]], %{{.*}} : i32
// CHECK: arith.xori %[[Y]], %[[STREAM]] : i32
// CHECK: arith.addi %[[SEED]], %{{.*}} : i32
// CHECK: arith.addi %[[STREAM]], %{{.*}} : i32
// CHECK-COUNT-18: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: %[[LAST:.*]] = arith.constant -129 : i32
// CHECK: %[[WORD:.*]] = arith.minui %{{.*}}, %[[LAST]] : i32
// CHECK: %[[FLOAT:.*]] = arith.uitofp %[[WORD]] : i32 to f32
// CHECK: arith.mulf %[[FLOAT]], %{{.*}} : f32
// CHECK: arith.addf
// CHECK-NOT: logitile.uniform
func.func @uniform(%seed: i32, %stream: i32, %token: i32, %column: i32) -> f32 {
  %u = logitile.uniform %seed, %stream, %token, %column : f32
  return %u : f32
}

// The first word of the first published vector, counter 0 under key 0, is 0x6627e8d5: (it + 0.5) /
// 2^32 = 0.39904642.
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 --canonicalize | FileCheck %s --check-prefix=KNOWN
// KNOWN-LABEL: func.func @known()
// KNOWN-NEXT: %[[U:.*]] = arith.constant 0.39904{{[0-9]*}} : f32
// KNOWN-NEXT: return %[[U]]
func.func @known() -> f32 {
  %zero = arith.constant 0 : i32
  %u = logitile.uniform %zero, %zero, %zero, %zero : f32
  return %u : f32
}

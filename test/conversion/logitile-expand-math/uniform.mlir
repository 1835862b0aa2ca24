// Random numbers are integer arithmetic, with a multiplication of 32 by 32 bits, and one rounding.

// The first round: both products of the counter (column without bits 3 and 4, token, 0, 0), of
// which one is of zeros; the key (seed, stream). Bits 3 and 4 choose one of the four words.
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s
// CHECK-LABEL: func.func @uniform(
// CHECK-SAME: %[[SEED:.*]]: i32, %[[STREAM:.*]]: i32, %[[TOKEN:.*]]: i32, %[[COLUMN:.*]]: i32)
// CHECK: %[[OTHERS:.*]] = arith.constant -25 : i32
// CHECK: %[[BLOCK:.*]] = arith.andi %[[COLUMN]], %[[OTHERS]] : i32
// CHECK: %[[M0:.*]] = arith.constant -766435501 : i32
// CHECK: %[[LOW0:.*]], %[[HIGH0:.*]] = arith.mului_extended %[[BLOCK]], %[[M0]] : i32
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
// CHECK: %[[BIT3:.*]] = arith.constant 8 : i32
// CHECK: arith.andi %[[COLUMN]], %[[BIT3]] : i32
// CHECK: %[[EARLY:.*]] = arith.select
// CHECK: %[[LATE:.*]] = arith.select
// CHECK: %[[BIT4:.*]] = arith.constant 16 : i32
// CHECK: %[[MASKED:.*]] = arith.andi %[[COLUMN]], %[[BIT4]] : i32
// CHECK: %[[IS_LATE:.*]] = arith.cmpi ne, %[[MASKED]], %{{.*}} : i32
// CHECK: %[[WORD:.*]] = arith.select %[[IS_LATE]], %[[LATE]], %[[EARLY]] : i32
// CHECK: %[[LAST:.*]] = arith.constant -129 : i32
// CHECK: %[[LEAST:.*]] = arith.minui %[[WORD]], %[[LAST]] : i32
// CHECK: %[[FLOAT:.*]] = arith.uitofp %[[LEAST]] : i32 to f32
// CHECK: arith.mulf %[[FLOAT]], %{{.*}} : f32
// CHECK: arith.addf
// CHECK-NOT: logitile.uniform
func.func @uniform(%seed: i32, %stream: i32, %token: i32, %column: i32) -> f32 {
  %u = logitile.uniform %seed, %stream, %token, %column : f32
  return %u : f32
}

// The words of the first published vector, counter 0 under key 0, are 0x6627e8d5, 0xe169c58d,
// 0xbc57ac4c and 0x9b00dbd8. The number of the last one is (it + 0.5) / 2^32 = 0.6054818.
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 --canonicalize | FileCheck %s --check-prefix=KNOWN
// KNOWN-LABEL: func.func @known()
// KNOWN-DAG: %[[FIRST:.*]] = arith.constant 0.39904{{[0-9]*}} : f32
// KNOWN-DAG: %[[LAST:.*]] = arith.constant 0.60548{{[0-9]*}} : f32
// KNOWN-NEXT: return %[[FIRST]], %[[LAST]]
func.func @known() -> (f32, f32) {
  %zero = arith.constant 0 : i32
  %column = arith.constant 24 : i32
  %u = logitile.uniform %zero, %zero, %zero, %zero : f32
  %v = logitile.uniform %zero, %zero, %zero, %column : f32
  return %u, %v : f32, f32
}

// Columns whose bits 3 and 4 are known share the rounds of a block: in a loop with steps of 64, and
// with terms that have lower bits only. A column from which a bit is carried has its own block, and
// so has one whose block was computed on another path.
// RUN: logitile-opt %s --logitile-expand-math=target=cuda:sm_80 | FileCheck %s --check-prefix=SHARED
// SHARED-LABEL: func.func @shared(
// SHARED-COUNT-20: arith.mului_extended
// SHARED-NOT: arith.mului_extended
// SHARED-LABEL: func.func @carried(
// SHARED-COUNT-40: arith.mului_extended
// SHARED-NOT: arith.mului_extended
// SHARED-LABEL: func.func @paths(
// SHARED: scf.if
// SHARED-COUNT-20: arith.mului_extended
// SHARED: } else {
// SHARED-COUNT-20: arith.mului_extended
// SHARED-NOT: arith.mului_extended
func.func @shared(%token: i32, %thread: i64, %end: i64) -> f32 {
  %zero = arith.constant 0 : i64
  %step = arith.constant 64 : i64
  %four = arith.constant 4 : i64
  %two = arith.constant 2 : i64
  %sixteen = arith.constant 16 : i64
  %quad = arith.remui %thread, %four : i64
  %low = arith.muli %quad, %two : i64
  %none = arith.constant 0.0 : f32
  %sum = scf.for %column = %zero to %end step %step iter_args(%before = %none) -> (f32) : i64 {
    %c0 = arith.addi %column, %low : i64
    %i0 = arith.trunci %c0 : i64 to i32
    %u0 = logitile.uniform %token, %token, %token, %i0 : f32
    %l1 = arith.addi %low, %sixteen : i64
    %c1 = arith.addi %column, %l1 : i64
    %i1 = arith.trunci %c1 : i64 to i32
    %u1 = logitile.uniform %token, %token, %token, %i1 : f32
    %both = arith.addf %u0, %u1 : f32
    %after = arith.addf %before, %both : f32
    scf.yield %after : f32
  }
  return %sum : f32
}
func.func @carried(%token: i32, %thread: i32) -> (f32, f32) {
  %four = arith.constant 4 : i32
  %fifteen = arith.constant 15 : i32
  %most = arith.constant 31 : i32
  %low = arith.remui %thread, %four : i32
  %c0 = arith.addi %low, %fifteen : i32
  %u0 = logitile.uniform %token, %token, %token, %c0 : f32
  %c1 = arith.addi %low, %most : i32
  %u1 = logitile.uniform %token, %token, %token, %c1 : f32
  return %u0, %u1 : f32, f32
}
func.func @paths(%token: i32, %is: i1) -> f32 {
  %column = arith.constant 3 : i32
  %u = scf.if %is -> f32 {
    %u0 = logitile.uniform %token, %token, %token, %column : f32
    scf.yield %u0 : f32
  } else {
    %u1 = logitile.uniform %token, %token, %token, %column : f32
    scf.yield %u1 : f32
  }
  return %u : f32
}

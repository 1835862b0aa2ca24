// RUN: logitile-opt %s "--logitile-cut-blocks=longest=8 part=6" | FileCheck %s
// The innermost long block is cut, with memory of the whole function: a loop does not add to it in
// every turn.

// CHECK-LABEL: func.func @loop(
// CHECK: llvm.alloca
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32) : i64 {
// CHECK-NOT: llvm.alloca
// CHECK: call @loop$part0(%{{.*}}, %[[SUM]])
// CHECK: call @loop$part1(
// CHECK: %[[NEXT:.*]] = llvm.load
// CHECK: scf.yield %[[NEXT]] : f32
func.func @loop(%count: i64, %start: f32) -> f32 {
  %zero = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %sum = scf.for %i = %zero to %count step %step iter_args(%x = %start) -> (f32) : i64 {
    %a = arith.addf %x, %x : f32
    %b = arith.mulf %a, %x : f32
    %c = arith.addf %b, %a : f32
    %d = arith.mulf %c, %b : f32
    %e = arith.addf %d, %c : f32
    %f = arith.mulf %e, %d : f32
    %g = arith.addf %f, %e : f32
    %h = arith.mulf %g, %f : f32
    %j = arith.addf %h, %g : f32
    scf.yield %j : f32
  }
  return %sum : f32
}

// A block of ordinary length stays.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: call
// CHECK: return
func.func @short(%x: f32) -> f32 {
  %a = arith.addf %x, %x : f32
  %b = arith.mulf %a, %x : f32
  return %b : f32
}

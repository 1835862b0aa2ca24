// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // CHECK-NEXT: logitile.finish @before forward results ["one" : f32, "two" : i32] {
  logitile.finish @before forward results ["one" : f32, "two" : i32] {
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2 : i32
    // CHECK: logitile.yield %{{.*}}, %{{.*}} : f32, i32
    logitile.yield %one, %two : f32, i32
  }
  logitile.sweep @s forward state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    logitile.yield %sum : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  }
  // CHECK: logitile.finish @after backward of @s results ["x" : f32] attributes {note} {
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32):
  logitile.finish @after backward of @s results ["x" : f32] attributes {note} {
  ^bb0(%sum: f32):
    // CHECK-NEXT: %[[ONE:.*]] = logitile.known <@before[0]> : f32
    %one = logitile.known <@before[0]> : f32
    // CHECK-NEXT: %[[X:.*]] = arith.addf %[[SUM]], %[[ONE]] : f32
    %x = arith.addf %sum, %one : f32
    // CHECK-NEXT: logitile.yield %[[X]] : f32
    logitile.yield %x : f32
  }
  // CHECK: logitile.finish @nothing fused results [] {
  logitile.finish @nothing fused results [] {
    logitile.yield
  }
  // CHECK: logitile.finish @best prologue lists ["a.values", "a.indices"] places 5 place 2 results ["third" : f32] {
  logitile.finish @best prologue lists ["a.values", "a.indices"] places 5 place 2 results ["third" : f32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
}

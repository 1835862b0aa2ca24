// If a sweep does not parse, the parser deletes it with its regions. The finish before it wrongly
// uses a value of one of these regions, and must not keep a reference to the deleted value.
// RUN: not logitile-opt %s 2>&1 | FileCheck %s

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["r" : f32] {
    %0 = arith.addf %zero, %zero : f32
    logitile.yield %0 : f32
  }
  logitile.sweep @s forward state ["x" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%x: f32):
    %y = arith.constant 1.0 : f32
    // CHECK: error: redefinition of SSA value '%y'
    // CHECK-NOT: Stack dump
    %y = arith.constant 2.0 : f32
    logitile.yield %x : f32
  } merge {
  ^bb0(%x: f32, %z: f32):
    logitile.yield %x : f32
  }
}

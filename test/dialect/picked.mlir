// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// A sweep picks entries at the indices of a list. A finish goes through the places of the picks.
// Another finish reads the list that is a result of the first one.
// CHECK-LABEL: logitile.program @a
// CHECK: logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 64>] init {
// CHECK: logitile.finish @squares forward places 64 results ["square" : f32] {
// CHECK-NEXT: %[[Z:.*]] = logitile.picked <@s[0]> : f32
// CHECK: logitile.finish @sum forward places 64 summed results ["sum" : f32] {
// CHECK-NEXT: %[[SQUARE:.*]] = logitile.known <@squares[0]> : f32
logitile.program @a vocab 100 outputs [] indices [] checked [] {
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 64>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
  logitile.finish @squares forward places 64 results ["square" : f32] {
    %z = logitile.picked <@s[0]> : f32
    %square = arith.mulf %z, %z : f32
    logitile.yield %square : f32
  }
  logitile.finish @sum forward places 64 summed results ["sum" : f32] {
    %square = logitile.known <@squares[0]> : f32
    %weight = logitile.input token "weight" places 64 : f32
    %term = arith.mulf %square, %weight : f32
    logitile.yield %term : f32
  }
}

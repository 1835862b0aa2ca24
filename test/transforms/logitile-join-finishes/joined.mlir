// RUN: logitile-opt %s --pass-pipeline='builtin.module(logitile.program(logitile-join-finishes))' | FileCheck %s

// The backward finish reads values where they are computed. What only it read is no result any
// more, and readers of other results name their new places.
// CHECK-LABEL: logitile.program @p
// CHECK-SAME: outputs [#logitile.output<"loss" : f32 is <@f[0]>>]
// CHECK: logitile.finish @f backward of @s results ["loss" : f32, "scale" : f32, "scale1" : f32] {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32):
// CHECK: %[[HALF:.*]] = arith.mulf %[[SUM]]
// CHECK: %[[TWICE:.*]] = arith.addf %[[SUM]], %[[SUM]] : f32
// CHECK: %[[COTANGENT:.*]] = logitile.input cotangent "loss" : f32
// CHECK: %[[SCALE:.*]] = arith.mulf %[[HALF]], %[[COTANGENT]] : f32
// CHECK: logitile.yield %[[SUM]], %[[TWICE]], %[[SCALE]] : f32, f32, f32
// CHECK-NOT: logitile.finish
// CHECK: logitile.gradient {
// CHECK: logitile.known <@f[1]>
// CHECK: logitile.known <@f[2]>
logitile.program @p vocab 300 outputs [#logitile.output<"loss" : f32 is <@f[0]>>] indices [] checked [] {
  logitile.sweep @s forward state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    %z = logitile.input logits "z" : f32
    %next = arith.addf %sum, %z : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.finish @f forward of @s results ["loss" : f32, "half" : f32, "scale" : f32] {
  ^bb0(%sum: f32):
    %c = arith.constant 0.5 : f32
    %half = arith.mulf %sum, %c : f32
    %twice = arith.addf %sum, %sum : f32
    logitile.yield %sum, %half, %twice : f32, f32, f32
  }
  logitile.finish @b backward results ["unread" : f32, "scale" : f32] {
    %half = logitile.known <@f[1]> : f32
    %cotangent = logitile.input cotangent "loss" : f32
    %scale = arith.mulf %half, %cotangent : f32
    logitile.yield %cotangent, %scale : f32, f32
  }
  logitile.gradient {
    %twice = logitile.known <@f[2]> : f32
    %scale = logitile.known <@b[1]> : f32
    %g = arith.mulf %twice, %scale : f32
    logitile.adjoint logits "z" dense %g
  }
}

// RUN: logitile-opt %s '--pass-pipeline=builtin.module(logitile.program(logitile-factor-gradient),canonicalize,cse)' | FileCheck %s

// The row state has the other projection's logit at the target, which is not the one that the
// gradient there is made of.
// CHECK: logitile.sweep @s forward state ["max" : f32, "sum" : f32, "other" : f32, "pick3" : f32] init
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %[[BEFORE:.*]]: f32):
// CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK: %[[PICK:.*]] = arith.select %{{.*}}, %[[Z]], %[[BEFORE]] : f32
// CHECK: logitile.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[PICK]] : f32, f32, f32, f32
// CHECK: logitile.finish @f forward of @s results ["lse" : f32, "other" : f32, "reference" : f32, "raised" : i32, "at_column" : f32] {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %[[AT:.*]]: f32):
// CHECK: logitile.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[AT]] : f32, f32, f32, i32, f32
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["max" : f32, "sum" : f32, "other" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero, %zero : f32, f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } update {
  ^bb0(%max: f32, %sum: f32, %other: f32):
    %z = logitile.input logits "z" : f32
    %x = arith.subf %z, %max : f32
    %e = math.exp %x : f32
    %next = arith.addf %sum, %e : f32
    %c = logitile.column : i32
    %t = logitile.input token "target" : i32
    %is = arith.cmpi eq, %c, %t : i32
    %o = logitile.input logits "of another model" : f32
    %p = arith.select %is, %o, %other : f32
    logitile.yield %max, %next, %p : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %pa: f32, %mb: f32, %sb: f32, %pb: f32):
    %max = arith.maxnumf %ma, %mb : f32
    %sum = arith.addf %sa, %sb : f32
    %pick = arith.addf %pa, %pb : f32
    logitile.yield %max, %sum, %pick : f32, f32, f32
  }
  logitile.finish @f forward of @s results ["lse" : f32, "other" : f32] {
  ^bb0(%max: f32, %sum: f32, %other: f32):
    %log = math.log %sum : f32
    %lse = arith.addf %max, %log : f32
    logitile.yield %lse, %other : f32, f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %lse = logitile.known <@f[0]> : f32
    %up = logitile.known <@f[1]> : f32
    %x = arith.subf %z, %lse : f32
    %e = math.exp %x : f32
    %g = arith.mulf %e, %up : f32
    %t = logitile.input token "target" : i32
    %weight = logitile.known <@f[1]> : f32
    logitile.adjoint logits "z" dense %g sparse [%t -> %weight]
  }
}

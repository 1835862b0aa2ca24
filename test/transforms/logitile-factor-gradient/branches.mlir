// RUN: logitile-opt %s '--pass-pipeline=builtin.module(logitile.program(logitile-factor-gradient),canonicalize,cse)' | FileCheck %s

// contract: 3 branch
// Where the token's condition does not hold or its weight is 0, so is its
// factor, although the exponential may be NaN there. The gradients of all tokens are sums with it.
// CHECK: logitile.finish @factor backward results ["factor" : f32] {
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[E:.*]] = math.exp
// CHECK-DAG: %[[W:.*]] = logitile.input token "weight" : f32
// CHECK: %[[WEIGHTED:.*]] = logitile.multiply_no_nan %[[W]], %[[E]] : f32
// CHECK: %[[SOME:.*]] = logitile.input token "some" : i1
// CHECK: %[[FACTOR:.*]] = arith.select %[[SOME]], %[[WEIGHTED]], %[[ZERO]] : f32
// CHECK: logitile.yield %[[FACTOR]] : f32
// CHECK: logitile.gradient relative to
// CHECK: %[[EARLY:.*]] = math.exp
// CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %[[EARLY]], %{{.*}} : f32
// CHECK: logitile.adjoint logits "z" dense %[[KEPT]] times %{{.*}}
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["max" : f32, "sum" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero : f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } update {
  ^bb0(%max: f32, %sum: f32):
    %z = logitile.input logits "z" : f32
    %x = arith.subf %z, %max : f32
    %e = math.exp %x : f32
    %next = arith.addf %sum, %e : f32
    logitile.yield %max, %next : f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %max = arith.maxnumf %ma, %mb : f32
    %sum = arith.addf %sa, %sb : f32
    logitile.yield %max, %sum : f32, f32
  }
  logitile.finish @f forward of @s results ["lse" : f32] {
  ^bb0(%max: f32, %sum: f32):
    %log = math.log %sum : f32
    %lse = arith.addf %max, %log : f32
    logitile.yield %lse : f32
  }
  logitile.gradient {
    %zero = arith.constant 0.0 : f32
    %z = logitile.input logits "z" : f32
    %lse = logitile.known <@f[0]> : f32
    %x = arith.subf %z, %lse : f32
    %e = math.exp %x : f32
    %weight = logitile.input token "weight" : f32
    %weighted = logitile.multiply_no_nan %weight, %e : f32
    %some = logitile.input token "some" : i1
    %g = arith.select %some, %weighted, %zero : f32
    logitile.adjoint logits "z" dense %g
  }
}

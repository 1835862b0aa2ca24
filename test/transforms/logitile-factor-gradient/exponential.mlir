// RUN: logitile-opt %s '--pass-pipeline=builtin.module(logitile.program(logitile-factor-gradient),canonicalize,cse)' | FileCheck %s

// The exponential becomes relative to the maximum of the first columns, plus 22 of exponents; what
// is the same for all entries of a token, and the cotangent, become its factor. The gradient at the
// target is made of the logit that the row state has there.
// CHECK: logitile.sweep @first_columns forward state ["max" : f32]
// CHECK: logitile.finish @reference forward of @first_columns results ["reference" : f32] {
// CHECK-NEXT: ^bb0(%[[OF_FIRST:.*]]: f32):
// CHECK: %[[RISE:.*]] = arith.constant 4.400000e+01 : f32
// CHECK: %[[RAISED_BY:.*]] = arith.addf %[[OF_FIRST]], %[[RISE]] : f32
// CHECK: logitile.yield %[[RAISED_BY]] : f32
// CHECK: logitile.sweep @s forward state ["max" : f32, "sum" : f32, "pick" : f32] init
// CHECK: logitile.finish @f forward of @s results ["lse" : f32, "reference" : f32, "raised" : i32, "at_column" : f32] {
// CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %{{.*}}: f32, %[[PICK:.*]]: f32):
// CHECK-DAG: %[[MOST:.*]] = arith.constant 2.200000e+01 : f32
// CHECK-DAG: %[[FIRST:.*]] = logitile.known <@reference[0]> : f32
// CHECK: %[[EXCESS:.*]] = arith.subf %[[MAX]], %[[FIRST]] : f32
// CHECK: %[[SCALED:.*]] = arith.mulf %[[EXCESS]], %{{.*}} : f32
// CHECK: %[[LOW:.*]] = arith.cmpf ogt, %[[SCALED]], %[[MOST]] : f32
// CHECK: %[[LAST:.*]] = arith.select %[[LOW]], %[[MAX]], %[[FIRST]] : f32
// CHECK: %[[RAISED:.*]] = arith.extui %[[LOW]] : i1 to i32
// CHECK: logitile.yield %{{.*}}, %[[LAST]], %[[RAISED]], %[[PICK]] : f32, f32, i32, f32
// CHECK: logitile.finish @factor backward results ["factor" : f32, "whole" : f32] {
// CHECK: logitile.known <@f[1]>
// CHECK: math.exp
// CHECK: logitile.known <@f[3]>
// CHECK: logitile.gradient relative to <first = <@reference[0]>, last = <@f[1]>, raised = <@f[2]>> {
// CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK: %[[R:.*]] = logitile.known <@reference[0]> : f32
// CHECK: %[[D:.*]] = arith.subf %[[Z]], %[[R]] : f32
// CHECK: %[[X:.*]] = arith.mulf %[[D]], %{{.*}} : f32
// CHECK: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: %[[T:.*]] = logitile.input token "target" : i32
// CHECK-DAG: %[[FACTOR:.*]] = logitile.known <@factor[0]> : f32
// CHECK-DAG: %[[WHOLE:.*]] = logitile.known <@factor[1]> : f32
// CHECK: logitile.adjoint logits "z" dense %[[E]] times %[[FACTOR]] sparse [%[[T]] -> %[[WHOLE]]]
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["max" : f32, "sum" : f32, "pick" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero, %zero : f32, f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } update {
  ^bb0(%max: f32, %sum: f32, %pick: f32):
    %z = logitile.input logits "z" : f32
    %x = arith.subf %z, %max : f32
    %e = math.exp %x : f32
    %next = arith.addf %sum, %e : f32
    %c = logitile.column : i32
    %t = logitile.input token "target" : i32
    %is = arith.cmpi eq, %c, %t : i32
    %p = arith.select %is, %z, %pick : f32
    logitile.yield %max, %next, %p : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %pa: f32, %mb: f32, %sb: f32, %pb: f32):
    %max = arith.maxnumf %ma, %mb : f32
    %sum = arith.addf %sa, %sb : f32
    %pick = arith.addf %pa, %pb : f32
    logitile.yield %max, %sum, %pick : f32, f32, f32
  }
  logitile.finish @f forward of @s results ["lse" : f32] {
  ^bb0(%max: f32, %sum: f32, %pick: f32):
    %log = math.log %sum : f32
    %lse = arith.addf %max, %log : f32
    logitile.yield %lse : f32
  }
  logitile.gradient {
    %half = arith.constant 0.5 : f32
    %z = logitile.input logits "z" : f32
    %lse = logitile.known <@f[0]> : f32
    %up = logitile.input cotangent "loss" : f32
    %scaled = arith.mulf %z, %half : f32
    %x = arith.subf %scaled, %lse : f32
    %e = math.exp %x : f32
    %g = logitile.multiply_no_nan %e, %up : f32
    %t = logitile.input token "target" : i32
    %weight = logitile.input token "weight" : f32
    logitile.adjoint logits "z" dense %g sparse [%t -> %weight]
  }
}

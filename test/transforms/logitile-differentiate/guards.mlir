// A branch that is not taken stays 0 on the way to the inputs: what multiplies an adjoint goes
// inside the select that cuts it off, where a slope may be infinite. (a = 0 in all cases: log a is
// -inf, and its slope 1 / a is infinite.)
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// Under a negation.
// CHECK-LABEL: logitile.loss @negated
// CHECK: %[[TAKEN:.*]] = arith.cmpf ogt
// CHECK: logitile.gradient {
// CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
// CHECK-NEXT: %[[SLOPE:.*]] = arith.divf %[[UP]], %{{.*}} : f32
// CHECK-NEXT: %[[GUARD:.*]] = arith.select %[[TAKEN]], %[[SLOPE]], %{{.*}} : f32
// CHECK-NEXT: %[[D:.*]] = arith.negf %[[GUARD]] : f32
// CHECK-NEXT: logitile.adjoint token "a" dense %[[D]]
logitile.loss @negated vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  %a = logitile.input token "a" : f32
  %b = logitile.input token "b" : f32
  %zero = arith.constant 0.0 : f32
  %taken = arith.cmpf ogt, %a, %zero : f32
  %log = math.log %a : f32
  %x = arith.subf %b, %log : f32
  %loss = arith.select %taken, %x, %zero : f32
  logitile.yield %loss : f32
}

// In a sum of two such adjoints.
// CHECK-LABEL: logitile.loss @summed
// CHECK-DAG: %[[FIRST:.*]] = arith.cmpf ogt, %[[A:.*]], %{{.*}} : f32
// CHECK-DAG: %[[SECOND:.*]] = arith.cmpf olt, %[[B:.*]], %{{.*}} : f32
// CHECK: logitile.gradient {
// CHECK-DAG: arith.select %[[FIRST]], %[[X:.*]], %{{.*}} : f32
// CHECK-DAG: arith.select %[[SECOND]], %[[Y:.*]], %{{.*}} : f32
// CHECK: %[[D:.*]] = arith.addf
// CHECK-NEXT: logitile.adjoint token "a" dense %[[D]]
logitile.loss @summed vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  %a = logitile.input token "a" : f32
  %b = logitile.input token "b" : f32
  %zero = arith.constant 0.0 : f32
  %first = arith.cmpf ogt, %a, %zero : f32
  %second = arith.cmpf olt, %b, %zero : f32
  %log = math.log %a : f32
  %x = arith.select %first, %log, %zero : f32
  %y = arith.select %second, %log, %zero : f32
  %loss = arith.addf %x, %y : f32
  logitile.yield %loss : f32
}

// Through a maximum, which chooses by conditions of its own, and halves on ties: the division is
// innermost.
// CHECK-LABEL: logitile.loss @maximum
// CHECK: %[[TAKEN:.*]] = arith.cmpf ogt
// CHECK: logitile.gradient {
// CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
// CHECK: %[[SLOPE:.*]] = arith.divf %[[UP]], %{{.*}} : f32
// CHECK-NEXT: %[[GUARD:.*]] = arith.select %[[TAKEN]], %[[SLOPE]], %{{.*}} : f32
// CHECK-NOT: arith.divf
// CHECK: logitile.adjoint token "a"
logitile.loss @maximum vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  %a = logitile.input token "a" : f32
  %b = logitile.input token "b" : f32
  %zero = arith.constant 0.0 : f32
  %taken = arith.cmpf ogt, %a, %zero : f32
  %log = math.log %a : f32
  %x = arith.maximumf %log, %b : f32
  %loss = arith.select %taken, %x, %zero : f32
  logitile.yield %loss : f32
}

// Through a sum over the vocabulary: a condition per token is the same for all of it, and guards
// the sum.
// CHECK-LABEL: logitile.loss @vocabulary
// CHECK: %[[TAKEN:.*]] = arith.cmpf ogt
// CHECK: logitile.gradient {
// CHECK: %[[TOTAL:.*]] = logitile.reduce
// CHECK: %[[SLOPE:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[GUARD:.*]] = arith.select %[[TAKEN]], %[[SLOPE]], %{{.*}} : f32
// CHECK-NEXT: logitile.adjoint token "a" dense %[[GUARD]]
logitile.loss @vocabulary vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  %a = logitile.input token "a" : f32
  %q = logitile.input vocab "q" : f32
  %zero = arith.constant 0.0 : f32
  %taken = arith.cmpf ogt, %a, %zero : f32
  %log = math.log %a : f32
  %x = arith.mulf %q, %log : f32
  %term = arith.select %taken, %x, %zero : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// A select whose branches both count is no guard: the factor stays outside, once.
// CHECK-LABEL: logitile.loss @two_branches
// CHECK: logitile.gradient {
// CHECK-NOT: arith.select
// CHECK: logitile.adjoint token "a"
logitile.loss @two_branches vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  %a = logitile.input token "a" : f32
  %b = logitile.input token "b" : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %positive = arith.cmpf ogt, %b, %zero : f32
  %weight = arith.select %positive, %b, %one : f32
  %log = math.log %a : f32
  %loss = arith.mulf %log, %weight : f32
  logitile.yield %loss : f32
}

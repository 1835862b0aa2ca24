// Where selects before it multiplies: the slope of a branch that is not taken never meets the
// adjoint.
// contract: 3 branch
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @guarded_log
logitile.loss @guarded_log vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  // CHECK: %[[A:.*]] = logitile.input token "a" : f32
  %a = logitile.input token "a" : f32
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[POSITIVE:.*]] = arith.cmpf ogt
  %positive = arith.cmpf ogt, %a, %zero : f32
  %log = math.log %a : f32
  %loss = arith.select %positive, %log, %zero : f32
  // CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK: %[[SLOPE:.*]] = arith.divf %[[UP]], %[[A]] : f32
  // CHECK: %[[D:.*]] = arith.select %[[POSITIVE]], %[[SLOPE]], %{{.*}} : f32
  // CHECK: logitile.adjoint token "a" dense %[[D]]
  logitile.yield %loss : f32
}

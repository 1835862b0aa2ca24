// Derivatives from the table of operations.
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @erf
logitile.loss @erf vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  // CHECK: %[[A:.*]] = logitile.input token "a" : f32
  %a = logitile.input token "a" : f32
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[A]], %[[A]] : f32
  // CHECK: %[[MINUS:.*]] = arith.negf %[[SQUARE]] : f32
  // CHECK: %[[BELL:.*]] = math.exp %[[MINUS]] : f32
  // CHECK: %[[WEIGHED:.*]] = logitile.multiply_no_nan %[[BELL]], %{{.*}} : f32
  // CHECK: arith.mulf %{{.*}}, %[[WEIGHED]] : f32
  // CHECK: logitile.adjoint token "a" dense
  %loss = math.erf %a : f32
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.loss @waves
logitile.loss @waves vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a", "b"] {
  // CHECK: %[[A:.*]] = logitile.input token "a" : f32
  %a = logitile.input token "a" : f32
  // CHECK: %[[B:.*]] = logitile.input token "b" : f32
  %b = logitile.input token "b" : f32
  %sine = math.sin %a : f32
  %cosine = math.cos %b : f32
  // CHECK: logitile.gradient {
  // CHECK-DAG: math.cos %[[A]] : f32
  // CHECK-DAG: math.sin %[[B]] : f32
  %loss = arith.addf %sine, %cosine : f32
  logitile.yield %loss : f32
}

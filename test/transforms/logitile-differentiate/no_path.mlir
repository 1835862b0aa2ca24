// No gradient flows through stop_gradient, comparisons, floor and integers; an input that nothing
// reaches has none.
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @stopped
logitile.loss @stopped vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a", "b"] {
  %a = logitile.input token "a" : f32
  // CHECK: %[[B:.*]] = logitile.input token "b" : f32
  %b = logitile.input token "b" : f32
  // CHECK: %[[FIXED:.*]] = logitile.stop_gradient
  %fixed = logitile.stop_gradient %a : f32
  %floor = math.floor %a : f32
  %scaled = arith.mulf %fixed, %b : f32
  %loss = arith.addf %scaled, %floor : f32
  // CHECK: logitile.adjoint token "a"{{$}}
  // CHECK: logitile.adjoint token "b" dense
  logitile.yield %loss : f32
}

// Without a request for gradients nothing happens.
// CHECK-LABEL: logitile.loss @nothing
// CHECK-NOT: logitile.gradient
logitile.loss @nothing vocab 7 outputs ["loss"] {
  %a = logitile.input token "a" : f32
  logitile.yield %a : f32
}

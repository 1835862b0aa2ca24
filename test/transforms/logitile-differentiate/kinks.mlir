// Kinks are torch's: half to each side of a tie, a clamp passes at its bounds, abs has slope 0 at
// 0.
// contract: 3 kinks
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @ties
logitile.loss @ties vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a", "b"] {
  // CHECK: %[[A:.*]] = logitile.input token "a" : f32
  %a = logitile.input token "a" : f32
  // CHECK: %[[B:.*]] = logitile.input token "b" : f32
  %b = logitile.input token "b" : f32
  %loss = arith.maximumf %a, %b : f32
  // CHECK-DAG: %[[TIE:.*]] = arith.cmpf oeq, %[[A]], %[[B]] : f32
  // CHECK-DAG: %[[WINS:.*]] = arith.cmpf ogt, %[[A]], %[[B]] : f32
  // CHECK-DAG: %[[HALF:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  // CHECK: %[[ONE:.*]] = arith.select %[[WINS]], %{{.*}}, %{{.*}} : f32
  // CHECK: %[[DA:.*]] = arith.select %[[TIE]], %[[HALF]], %[[ONE]] : f32
  // CHECK: logitile.adjoint token "a" dense %[[DA]]
  // CHECK: logitile.adjoint token "b" dense
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.loss @bounds
logitile.loss @bounds vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  %a = logitile.input token "a" : f32
  %low = arith.constant -1.0 : f32
  %high = arith.constant 1.0 : f32
  %loss = math.clampf %a to [%low, %high] : f32
  // CHECK-DAG: %[[ABOVE:.*]] = arith.cmpf oge
  // CHECK-DAG: %[[BELOW:.*]] = arith.cmpf ole
  // CHECK: %[[INSIDE:.*]] = arith.andi %[[ABOVE]], %[[BELOW]] : i1
  // CHECK: arith.select %[[INSIDE]]
  logitile.yield %loss : f32
}

// The upper bound may be below the lower one: it is the result then.
// CHECK-LABEL: logitile.loss @bounds_that_may_cross
logitile.loss @bounds_that_may_cross vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["low", "high"] {
  // CHECK: %[[A:.*]] = logitile.input token "a" : f32
  // CHECK: %[[LOW:.*]] = logitile.input token "low" : f32
  // CHECK: %[[HIGH:.*]] = logitile.input token "high" : f32
  %a = logitile.input token "a" : f32
  %low = logitile.input token "low" : f32
  %high = logitile.input token "high" : f32
  %loss = math.clampf %a to [%low, %high] : f32
  // CHECK-DAG: %[[LESS:.*]] = arith.cmpf olt, %[[A]], %[[LOW]]
  // CHECK-DAG: %[[ORDERED:.*]] = arith.cmpf olt, %[[LOW]], %[[HIGH]]
  // CHECK: %[[BELOW:.*]] = arith.andi %[[LESS]], %[[ORDERED]]
  // CHECK: %[[DLOW:.*]] = arith.select %[[BELOW]]
  // CHECK: logitile.adjoint token "low" dense %[[DLOW]]
  // CHECK-DAG: %[[MORE:.*]] = arith.cmpf ogt, %[[A]], %[[HIGH]]
  // CHECK-DAG: %[[CROSSED:.*]] = arith.cmpf olt, %[[HIGH]], %[[LOW]]
  // CHECK: %[[ABOVE:.*]] = arith.ori %[[MORE]], %[[CROSSED]]
  // CHECK: %[[DHIGH:.*]] = arith.select %[[ABOVE]]
  // CHECK: logitile.adjoint token "high" dense %[[DHIGH]]
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.loss @absolute
logitile.loss @absolute vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  // CHECK: %[[A:.*]] = logitile.input token "a" : f32
  %a = logitile.input token "a" : f32
  %loss = math.absf %a : f32
  // CHECK-DAG: arith.cmpf ogt, %[[A]]
  // CHECK-DAG: arith.cmpf olt, %[[A]]
  logitile.yield %loss : f32
}

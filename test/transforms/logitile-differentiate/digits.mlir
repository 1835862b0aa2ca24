// RUN: logitile-opt %s --logitile-differentiate | FileCheck %s
// RUN: %form_sweeps %s | FileCheck %s --check-prefix=SWEEPS

// A number that is no float32 is a sum of two: read again, it is the number that it was.
// CHECK-LABEL: logitile.loss @digits
// CHECK: logitile.gradient {
// CHECK: %[[HIGH:.*]] = arith.constant 0.206099287 : f32
// CHECK-NEXT: %[[LOW:.*]] = arith.constant 4.8801132E-9 : f32
// CHECK-NEXT: arith.addf %[[HIGH]], %[[LOW]] : f32
// SWEEPS-LABEL: logitile.program @digits
logitile.loss @digits vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %log = math.log2 %z : f32
  %mean = logitile.reduce mean %log : f32 -> f32
  logitile.yield %mean : f32
}

// So the condition of a gradient is the condition of the value: it is one comparison, made once.
// SWEEPS-LABEL: logitile.program @condition
// SWEEPS: logitile.finish @finish2 forward of @forward1
// SWEEPS: arith.cmpf oeq
// SWEEPS-NOT: arith.cmpf oeq
// SWEEPS: logitile.gradient
logitile.loss @condition vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %zero = arith.constant 0.0 : f32
  %five = arith.constant 5.0 : f32
  %column = logitile.column : i32
  %number = arith.sitofp %column : i32 to f32
  %log = math.log2 %number : f32
  %best = logitile.reduce max %log : f32 -> f32
  %distance = arith.subf %log, %best : f32
  %equal = arith.cmpf oeq, %distance, %zero : f32
  %chosen = arith.select %equal, %z, %five : f32
  %loss = logitile.reduce max %chosen : f32 -> f32
  logitile.yield %loss : f32
}

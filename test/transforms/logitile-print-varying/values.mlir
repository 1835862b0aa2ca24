// RUN: logitile-opt --logitile-print-varying %s | FileCheck %s

// Logits, Vocab and Dense inputs and the column differ along the vocabulary; the other inputs and
// constants do not.
// CHECK-LABEL: logitile.loss @inputs
logitile.loss @inputs vocab 5 outputs [] {
  // CHECK-NEXT: logitile.input logits "z" {logitile.varying} : f32
  %0 = logitile.input logits "z" : f32
  // CHECK-NEXT: logitile.input vocab "bias" {logitile.varying} : f32
  %1 = logitile.input vocab "bias" : f32
  // CHECK-NEXT: logitile.input dense "p" {logitile.varying} : f32
  %2 = logitile.input dense "p" : f32
  // CHECK-NEXT: logitile.column {logitile.varying} : i32
  %3 = logitile.column : i32
  // CHECK-NEXT: logitile.input token "t" : i32
  %4 = logitile.input token "t" : i32
  // CHECK-NEXT: logitile.input scalar "s" : f32
  %5 = logitile.input scalar "s" : f32
  // CHECK-NEXT: arith.constant 1.000000e+00 : f32
  %6 = arith.constant 1.0 : f32
  logitile.yield
}

// Elementwise maths is varying if one of its operands is.
// CHECK-LABEL: logitile.loss @elementwise
logitile.loss @elementwise vocab 5 outputs [] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input token "t" : f32
  // CHECK: arith.addf %{{.*}}, %{{.*}} {logitile.varying} : f32
  %0 = arith.addf %t, %z : f32
  // CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : f32
  %1 = arith.addf %t, %t : f32
  // CHECK-NEXT: math.exp %{{.*}} {logitile.varying} : f32
  %2 = math.exp %0 : f32
  // CHECK-NEXT: logitile.multiply_no_nan %{{.*}}, %{{.*}} {logitile.varying} : f32
  %3 = logitile.multiply_no_nan %t, %z : f32
  // CHECK-NEXT: logitile.sigmoid %{{.*}} {logitile.varying} : f32
  %4 = logitile.sigmoid %z : f32
  // CHECK-NEXT: logitile.softplus %{{.*}} : f32
  %5 = logitile.softplus %t : f32
  // CHECK-NEXT: logitile.stop_gradient %{{.*}} {logitile.varying} : f32
  %6 = logitile.stop_gradient %z : f32
  // CHECK-NEXT: arith.cmpf ogt, %{{.*}}, %{{.*}} {logitile.varying} : f32
  %7 = arith.cmpf ogt, %z, %t : f32
  // CHECK-NEXT: arith.select %{{.*}}, %{{.*}}, %{{.*}} {logitile.varying} : f32
  %8 = arith.select %7, %t, %t : f32
  logitile.yield
}

// Reductions and picks have one value per token, also for what is computed from them.
// CHECK-LABEL: logitile.loss @uniform
logitile.loss @uniform vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  // CHECK: logitile.reduce argmax %{{.*}} : f32 -> i32
  %best = logitile.reduce argmax %z : f32 -> i32
  // CHECK-NEXT: logitile.gather %{{.*}}[%{{.*}}] : f32
  %picked = logitile.gather %z[%best] : f32
  // CHECK-NEXT: logitile.reduce max %{{.*}} : f32 -> f32
  %max = logitile.reduce max %z : f32 -> f32
  // CHECK-NEXT: arith.subf %{{.*}}, %{{.*}} : f32
  %l = arith.subf %picked, %max : f32
  // CHECK-NEXT: arith.subf %{{.*}}, %{{.*}} {logitile.varying} : f32
  %back = arith.subf %z, %max : f32
  logitile.yield %l : f32
}

// Inside the gradient too; cotangents are one per token.
// CHECK-LABEL: logitile.loss @gradient
logitile.loss @gradient vocab 5 outputs ["l"] gradient of ["l"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %l = logitile.reduce logsumexp %z : f32 -> f32
  logitile.gradient {
    // CHECK: logitile.input cotangent "l" : f32
    %up = logitile.input cotangent "l" : f32
    // CHECK-NEXT: arith.subf %{{.*}}, %{{.*}} {logitile.varying} : f32
    %x = arith.subf %z, %l : f32
    // CHECK-NEXT: math.exp %{{.*}} {logitile.varying} : f32
    %p = math.exp %x : f32
    // CHECK-NEXT: arith.mulf %{{.*}}, %{{.*}} {logitile.varying} : f32
    %dense = arith.mulf %p, %up : f32
    logitile.adjoint logits "z" dense %dense
  }
  logitile.yield %l : f32
}

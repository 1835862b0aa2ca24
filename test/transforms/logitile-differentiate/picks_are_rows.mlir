// A pick leaves a sparse term: its column and coefficient stay apart from the dense gradient.
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @two_picks
logitile.loss @two_picks vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z", "bias"] {
  %z = logitile.input logits "z" : f32
  %bias = logitile.input vocab "bias" : f32
  // CHECK: %[[A:.*]] = logitile.input token "t"[0] : i32
  %a = logitile.input token "t"[0] : i32
  // CHECK: %[[B:.*]] = logitile.input token "t"[1] : i32
  %b = logitile.input token "t"[1] : i32
  %x = arith.addf %z, %bias : f32
  %za = logitile.gather %x[%a] : f32
  %zb = logitile.gather %x[%b] : f32
  %loss = arith.addf %za, %zb : f32
  // CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK: logitile.adjoint logits "z" sparse [%[[B]] -> %[[UP]], %[[A]] -> %[[UP]]]
  // CHECK: logitile.adjoint vocab "bias" sparse [%[[B]] -> %[[UP]], %[[A]] -> %[[UP]]]
  logitile.yield %loss : f32
}

// The gradient of a maximum goes to the entry that argmax names.
// CHECK-LABEL: logitile.loss @largest
logitile.loss @largest vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %loss = logitile.reduce max %z : f32 -> f32
  // CHECK: %[[BEST:.*]] = logitile.reduce argmax %{{.*}} : f32 -> i32
  // CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK: logitile.adjoint logits "z" sparse [%[[BEST]] -> %[[UP]]]
  logitile.yield %loss : f32
}

// All of a Dense input's gradient is written, so the entry is a part of it.
// CHECK-LABEL: logitile.loss @dense
logitile.loss @dense vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["soft"] {
  // CHECK: %[[T:.*]] = logitile.input token "t" : i32
  %t = logitile.input token "t" : i32
  %soft = logitile.input dense "soft" : f32
  %loss = logitile.gather %soft[%t] : f32
  // CHECK: %[[UP:.*]] = logitile.input cotangent "loss" : f32
  // CHECK: %[[COLUMN:.*]] = logitile.column : i32
  // CHECK: %[[HERE:.*]] = arith.cmpi eq, %[[COLUMN]], %[[T]] : i32
  // CHECK: %[[ENTRY:.*]] = arith.select %[[HERE]], %[[UP]], %{{.*}} : f32
  // CHECK: logitile.adjoint dense "soft" dense %[[ENTRY]]
  logitile.yield %loss : f32
}

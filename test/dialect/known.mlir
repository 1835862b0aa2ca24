// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32, "y" : i32] {
    %x = arith.constant 1.0 : f32
    %y = arith.constant 1 : i32
    logitile.yield %x, %y : f32, i32
  }
  // CHECK: logitile.gradient {
  logitile.gradient {
    // CHECK-NEXT: %{{.*}} = logitile.known <@f[1]> : i32
    %y = logitile.known <@f[1]> : i32
    // CHECK-NEXT: %{{.*}} = logitile.known <@f[0]> {note} : f32
    %x = logitile.known <@f[0]> {note} : f32
    %z = logitile.input logits "z" : f32
    logitile.adjoint logits "z" dense %z sparse [%y -> %x]
  }
}

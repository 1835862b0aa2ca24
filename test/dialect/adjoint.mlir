// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @every_form
logitile.program @every_form vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    // CHECK: %[[T:.*]] = logitile.input token "t" : i32
    %t = logitile.input token "t" : i32
    // CHECK-NEXT: %[[D:.*]] = logitile.input token "d" : f32
    %d = logitile.input token "d" : f32
    // CHECK-NEXT: logitile.adjoint logits "z" dense %[[D]] sparse [%[[T]] -> %[[D]]]
    logitile.adjoint logits "z" dense %d sparse [%t -> %d]
    // CHECK-NEXT: logitile.adjoint vocab "bias" sparse [%[[T]] -> %[[D]], %[[T]] -> %[[D]]]
    logitile.adjoint vocab "bias" sparse [%t -> %d, %t -> %d]
    // CHECK-NEXT: logitile.adjoint dense "p" dense %[[D]]
    logitile.adjoint dense "p" dense %d
    // CHECK-NEXT: logitile.adjoint token "w"[3] dense %[[D]]
    logitile.adjoint token "w"[3] dense %d
    // CHECK-NEXT: logitile.adjoint scalar "temperature"{{$}}
    logitile.adjoint scalar "temperature"
  }
}

// CHECK-LABEL: logitile.program @factored
logitile.program @factored vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f backward results ["factor" : f32, "first" : f32, "last" : f32, "raised" : i32] {
    %c = arith.constant 1.0 : f32
    %i = arith.constant 0 : i32
    logitile.yield %c, %c, %c, %i : f32, f32, f32, i32
  }
  // CHECK: logitile.gradient relative to <first = <@f[1]>, last = <@f[2]>, raised = <@f[3]>> {
  logitile.gradient relative to <first = <@f[1]>, last = <@f[2]>, raised = <@f[3]>> {
    %z = logitile.input logits "z" : f32
    %t = logitile.input token "t" : i32
    %k = logitile.known <@f[0]> : f32
    // CHECK: logitile.adjoint logits "z" dense %[[Z:.*]] times %[[K:.*]] sparse [%{{.*}} -> %[[K]]]
    logitile.adjoint logits "z" dense %z times %k sparse [%t -> %k]
  }
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.loss @in_a_loss
logitile.loss @in_a_loss vocab 5 outputs ["l"] gradient of ["l"] wrt ["z"] {
  %l = arith.constant 1.0 : f32
  // CHECK: logitile.gradient {
  logitile.gradient {
    // CHECK-NEXT: %[[UP:.*]] = logitile.input cotangent "l" : f32
    %up = logitile.input cotangent "l" : f32
    // CHECK-NEXT: logitile.adjoint logits "z" dense %[[UP]]
    logitile.adjoint logits "z" dense %up
  }
  logitile.yield %l : f32
}

// CHECK-LABEL: logitile.program @in_a_program
logitile.program @in_a_program vocab 5 outputs [] indices [] checked [] {
  // CHECK-NEXT: logitile.gradient attributes {note} {
  // CHECK-NEXT: }
  logitile.gradient attributes {note} {
  }
}

// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.loss @three
logitile.loss @three vocab 5 outputs ["a", "b", "c"] {
  %a = arith.constant 1.0 : f32
  %b = arith.constant 1 : i32
  %c = arith.constant true
  // CHECK: logitile.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, i32, i1
  logitile.yield %a, %b, %c : f32, i32, i1
}

// CHECK-LABEL: logitile.loss @none
logitile.loss @none vocab 5 outputs [] {
  // CHECK-NEXT: logitile.yield{{$}}
  logitile.yield
}

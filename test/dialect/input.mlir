// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @every_kind
func.func @every_kind() {
  // CHECK-NEXT: %{{.*}} = logitile.input logits "student" : f32
  %0 = logitile.input logits "student" : f32
  // CHECK-NEXT: %{{.*}} = logitile.input token "target" : i32
  %1 = logitile.input token "target" : i32
  // CHECK-NEXT: %{{.*}} = logitile.input token "targets"[2] : i32
  %2 = logitile.input token "targets"[2] : i32
  // CHECK-NEXT: %{{.*}} = logitile.input token "is_kept" : i1
  %3 = logitile.input token "is_kept" : i1
  // CHECK-NEXT: %{{.*}} = logitile.input vocab "class_weight" : f32
  %4 = logitile.input vocab "class_weight" : f32
  // CHECK-NEXT: %{{.*}} = logitile.input vocab "group" : i32
  %5 = logitile.input vocab "group" : i32
  // CHECK-NEXT: %{{.*}} = logitile.input dense "soft_target" : f32
  %6 = logitile.input dense "soft_target" : f32
  // CHECK-NEXT: %{{.*}} = logitile.input dense "mask" : i1
  %7 = logitile.input dense "mask" : i1
  // CHECK-NEXT: %{{.*}} = logitile.input scalar "temperature" : f32
  %8 = logitile.input scalar "temperature" : f32
  // CHECK-NEXT: %{{.*}} = logitile.input scalar "seed" : i32
  %seed = logitile.input scalar "seed" : i32
  // CHECK-NEXT: %{{.*}} = logitile.input token_index : i32
  %token = logitile.input token_index : i32
  // CHECK-NEXT: %{{.*}} = logitile.input slice_offset : i32
  %offset = logitile.input slice_offset : i32
  // CHECK-NEXT: %{{.*}} = logitile.input cotangent "loss" : f32
  %9 = logitile.input cotangent "loss" : f32
  // A name may be any text, and ops may have attributes of their own.
  // CHECK-NEXT: %{{.*}} = logitile.input token "a \22quoted\22 name" {note} : f32
  %11 = logitile.input token "a \22quoted\22 name" {note} : f32
  return
}

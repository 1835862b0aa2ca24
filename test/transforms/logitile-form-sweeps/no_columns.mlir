// RUN: %form_sweeps %s | FileCheck %s

// A sweep that reads nothing along the vocabulary but the number of the entry has the columns of a projection.
// CHECK-LABEL: logitile.program @below
// CHECK: logitile.sweep @forward0 forward state ["arg0.index"
// CHECK: logitile.sweep @forward1 forward along "z" state ["count{{[0-9]+}}" : i32]
logitile.loss @below vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %column = logitile.column : i32
  %best = logitile.reduce argmax %z : f32 -> i32
  %is_below = arith.cmpi slt, %column, %best : i32
  %count = logitile.reduce count %is_below : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// RUN: %form_sweeps --logitile-give-columns %s | FileCheck %s

// A sweep that reads nothing along the vocabulary but the number of the entry has the columns of a
// projection.
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

// A sweep whose logits are simplified away: a condition equals itself.
// CHECK-LABEL: logitile.program @simplified
// CHECK: logitile.sweep @forward0 forward state
// CHECK: logitile.sweep @forward1 forward along "z" state
logitile.loss @simplified vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %column = logitile.column : i32
  %one = arith.constant 1.0 : f32
  %number = arith.sitofp %column : i32 to f32
  %large = arith.cmpf ogt, %z, %one : f32
  %always = arith.cmpi eq, %large, %large : i1
  %x = arith.select %always, %number, %one : f32
  %mean = logitile.reduce mean %z : f32 -> f32
  %scaled = arith.mulf %x, %mean : f32
  %loss = logitile.reduce logsumexp %scaled : f32 -> f32
  logitile.yield %loss : f32
}

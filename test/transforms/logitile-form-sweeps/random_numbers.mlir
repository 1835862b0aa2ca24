// Random numbers are elementwise: of integers that are one per token, and of the column.
// RUN: %form_sweeps %s | FileCheck %s

// An entry is drawn in one sweep, which carries the logit at that index along. Nothing of the noise
// is kept.
// CHECK-LABEL: logitile.program @draw
// CHECK-SAME: indices [] checked []
// CHECK: logitile.sweep @forward0 forward state ["arg0.index" : i32, "arg0.value" : f32, "carry1" : f32]
// CHECK: } update {
// CHECK: %[[SEED:.*]] = logitile.input scalar "seed" : i32
// CHECK: %[[TOKEN:.*]] = logitile.input token_index : i32
// CHECK: %[[COLUMN:.*]] = logitile.column : i32
// CHECK: %[[U:.*]] = logitile.uniform %[[SEED]], %{{.*}}, %[[TOKEN]], %[[COLUMN]] : f32
// CHECK: %[[X:.*]] = arith.addf %{{.*}}, %[[U]] : f32
// CHECK: arith.cmpf ugt, %[[X]], %arg0.value : f32
// CHECK-NOT: logitile.sweep
// CHECK: logitile.finish @finish1
// CHECK-NOT: logitile.uniform
logitile.loss @draw vocab 100 outputs ["index", "logit"] {
  %z = logitile.input logits "z" : f32
  %seed = logitile.input scalar "seed" : i32
  %stream = arith.constant 1 : i32
  %token = logitile.input token_index : i32
  %column = logitile.column : i32
  %u = logitile.uniform %seed, %stream, %token, %column : f32
  %x = arith.addf %z, %u : f32
  %index = logitile.reduce argmax %x : f32 -> i32
  %logit = logitile.gather %z[%index] : f32
  logitile.yield %index, %logit : i32, f32
}

// A pick goes through it: the number of one column takes no sweep. It is a constant: no gradient
// flows through it.
// CHECK-LABEL: logitile.program @one_for_each_token
// CHECK-NOT: logitile.sweep
// CHECK: %[[COLUMN:.*]] = arith.constant 7 : i32
// CHECK: logitile.uniform %{{.*}}, %{{.*}}, %{{.*}}, %[[COLUMN]] : f32
// CHECK: logitile.adjoint token "scale" dense
logitile.loss @one_for_each_token vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["scale"] {
  %scale = logitile.input token "scale" : f32
  %seed = logitile.input scalar "seed" : i32
  %token = logitile.input token_index : i32
  %column = logitile.column : i32
  %u = logitile.uniform %seed, %seed, %token, %column : f32
  %seven = arith.constant 7 : i32
  %drawn = logitile.gather %u[%seven] : f32
  %loss = arith.mulf %scale, %drawn : f32
  logitile.yield %loss : f32
}

// A logsumexp of scaled distances from a mean: one sweep makes the mean and the sum of
// exponentials, which do not have it. The entry at y is made of the same parts, so that what is far
// from the mean cancels.
// contract: 5 one value
// RUN: %form_sweeps %s | FileCheck %s

// CHECK: logitile.sweep @forward0
// CHECK: logitile.finish @finish1 forward of @forward0
// CHECK-NEXT: ^bb0(%[[MAX:[^:]*]]: f32,
// CHECK-DAG: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG: %[[MINUS:.*]] = arith.constant -5.000000e-01 : f32
// CHECK: %[[MEAN:.*]] = arith.mulf %{{.*}}, %[[MINUS]] : f32
// CHECK: %[[LARGEST:.*]] = arith.mulf %[[MAX]], %[[HALF]] : f32
// CHECK: arith.addf %[[MEAN]], %[[LARGEST]] : f32
// CHECK: %[[PICK:.*]] = arith.select %{{.*}}, %pick{{[0-9]+}}, %{{.*}} : f32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[PICK]], %[[HALF]] : f32
// CHECK: arith.addf %[[SCALED]], %[[MEAN]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @scaled_distance_from_mean vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %y = logitile.input token "y" : i32
  %s = arith.constant 0.5 : f32
  %mean = logitile.reduce mean %z : f32 -> f32
  %d = arith.subf %z, %mean : f32
  %x = arith.mulf %s, %d : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %entry = logitile.gather %x[%y] : f32
  %loss = arith.subf %lse, %entry : f32
  logitile.yield %loss : f32
}

// Single places of a list, as later parts read them: each from a finish of its own, after the sweep
// that makes the list.
// RUN: %form_sweeps %s | FileCheck %s

// The value at the index of a place is what the list has there: no sweep picks it.
// CHECK-LABEL: logitile.program @above_the_third
// CHECK: logitile.sweep @forward0 forward state [] lists [3] init {
// CHECK: logitile.finish @[[PLACE:place[0-9]+_2]] forward of @forward0 list 0 place 2 results ["{{.*}}" : f32]
// CHECK-NEXT: ^bb0(%value: f32, %{{.*}}: i32):
// CHECK-NEXT: logitile.yield %value : f32
// CHECK: logitile.sweep @forward1 forward
// CHECK: %[[THIRD:.*]] = logitile.known <@[[PLACE]][0]> : f32
// CHECK: arith.cmpf ogt, %{{.*}}, %[[THIRD]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @above_the_third vocab 100 outputs ["count"] {
  %z = logitile.input logits "z" : f32
  %b = logitile.input vocab "b" : f32
  %x = arith.addf %z, %b : f32
  %indices = logitile.reduce argtop %x places 3 : f32 -> i32
  %two = arith.constant 2 : i32
  %index = logitile.gather %indices[%two] : i32
  %third = logitile.gather %x[%index] : f32
  %above = arith.cmpf ogt, %x, %third : f32
  %count = logitile.reduce count %above : i1 -> i32
  logitile.yield %count : i32
}

// Another value is picked at the index.
// CHECK-LABEL: logitile.program @elsewhere
// CHECK: logitile.sweep @forward0 forward state [] lists [2] init {
// CHECK: logitile.finish @[[PLACE:place[0-9]+_0]] forward of @forward0 list 0 place 0 results
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %[[INDEX:.*]]: i32):
// CHECK-NEXT: logitile.yield %[[INDEX]] : i32
// CHECK: logitile.sweep @forward1 forward state ["pick{{.*}}" : f32]
// CHECK: logitile.known <@[[PLACE]][0]> : i32
// CHECK-NOT: logitile.sweep
logitile.loss @elsewhere vocab 100 outputs ["t"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %indices = logitile.reduce argtop %z places 2 : f32 -> i32
  %zero = arith.constant 0 : i32
  %index = logitile.gather %indices[%zero] : i32
  %picked = logitile.gather %t[%index] : f32
  logitile.yield %picked : f32
}

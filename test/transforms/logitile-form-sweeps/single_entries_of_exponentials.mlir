// exp2 is an exponential of a multiple. Its entry is made of the product as a sweep rounds it,
// without what that lost.
// contract: 5 one value
// RUN: %form_sweeps %s | FileCheck %s

// CHECK-LABEL: logitile.program @power_of_two
// CHECK: logitile.finish @finish1_1
// CHECK-NOT: math.fma
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[ENTRY:.*]] = math.exp %[[PRODUCT]] : f32
// CHECK-NEXT: logitile.yield %[[ENTRY]] : f32
logitile.loss @power_of_two vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %u = logitile.input vocab "u" : f32
  %x = arith.addf %z, %u : f32
  %best = logitile.reduce argmax %z : f32 -> i32
  %power = math.exp2 %x : f32
  %entry = logitile.gather %x[%best] : f32
  %largest = math.exp2 %entry : f32
  %above = arith.cmpf ogt, %power, %largest : f32
  %count = logitile.reduce count %above : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// A number times exponentials: so is the entry.
// CHECK-LABEL: logitile.program @number_times_exponential
// CHECK: logitile.finish @finish1_1
// CHECK-NOT: math.fma
// CHECK: %[[EXP:.*]] = math.exp
// CHECK-NEXT: %[[ENTRY:.*]] = arith.mulf %[[EXP]], %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[ENTRY]] : f32
logitile.loss @number_times_exponential vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %u = logitile.input vocab "u" : f32
  %third = arith.constant 0.3 : f32
  %best = logitile.reduce argmax %z : f32 -> i32
  %e = math.exp %u : f32
  %x = arith.mulf %third, %e : f32
  %entry = logitile.gather %u[%best] : f32
  %e_best = math.exp %entry : f32
  %x_best = arith.mulf %third, %e_best : f32
  %above = arith.cmpf ogt, %x, %x_best : f32
  %count = logitile.reduce count %above : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// An index that is selected: the exponential of each entry is selected, not the exponent.
// CHECK-LABEL: logitile.program @selected_entries
// CHECK: logitile.finish @finish1_1
// CHECK: %[[SECOND:.*]] = math.exp %{{.*}} : f32
// CHECK-NEXT: %[[CHOSEN:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SECOND]] : f32
// CHECK-NEXT: logitile.yield %[[CHOSEN]] : f32
logitile.loss @selected_entries vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %y = logitile.input token "y" : i32
  %u = logitile.input vocab "u" : f32
  %x = arith.addf %z, %u : f32
  %ten = arith.constant 10 : i32
  %best = logitile.reduce argmax %z : f32 -> i32
  %few = arith.cmpi slt, %y, %ten : i32
  %index = arith.select %few, %y, %best : i32
  %power = math.exp %x : f32
  %entry = logitile.gather %x[%index] : f32
  %chosen = math.exp %entry : f32
  %above = arith.cmpf ogt, %power, %chosen : f32
  %count = logitile.reduce count %above : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// Sparse terms of computed values are made with the operations of the sweep, so that both have the
// same bits.
// contract: 5 one value
// RUN: %form_sweeps %s | FileCheck %s

// The maximum is that of rounded sums, and so is what it is compared with: one addition, no
// rounding error beside it.
// CHECK-LABEL: logitile.program @own_maximum
// CHECK: logitile.finish @finish1_1 forward results ["{{v[0-9]+}}" : f32]
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: logitile.yield %[[SUM]] : f32
// CHECK: logitile.sweep @forward1
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.addf
// CHECK: %[[MAX:.*]] = logitile.known <@finish1_1[0]> : f32
// CHECK: arith.cmpf oge, %[[X]], %[[MAX]] : f32
logitile.loss @own_maximum vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %u = logitile.input vocab "u" : f32
  %x = arith.addf %z, %u : f32
  %max = logitile.reduce max %x : f32 -> f32
  %largest = arith.cmpf oge, %x, %max : f32
  %count = logitile.reduce count %largest : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// An entry that is the index itself is not made of itself.
// CHECK-LABEL: logitile.program @index
// CHECK: logitile.finish @finish0 prologue results ["loss" : f32]
logitile.loss @index vocab 100 outputs ["loss"] {
  %y = logitile.input token "y" : i32
  %zero = arith.constant 0 : i32
  %index = arith.maxsi %y, %zero : i32
  %column = logitile.column : i32
  %least = arith.minsi %column, %index : i32
  %number = arith.sitofp %least : i32 to f32
  %loss = logitile.gather %number[%index] : f32
  logitile.yield %loss : f32
}

// At entry 0 the condition is known: the entry is made of the branch that it takes, by the same
// multiplication.
// CHECK-LABEL: logitile.program @branch
// CHECK: logitile.finish @finish1 forward of @forward0
// CHECK-NEXT: ^bb0(%[[PICK:.*]]: f32):
// CHECK: %[[ENTRY:.*]] = arith.mulf %[[PICK]], %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[ENTRY]] : f32
// CHECK: } update {
// CHECK: %[[CHOSEN:.*]] = arith.select
// CHECK: %[[X:.*]] = arith.mulf %[[CHOSEN]], %{{.*}} : f32
// CHECK: arith.cmpf ogt, %[[X]], %{{.*}} : f32
logitile.loss @branch vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %v = logitile.input token "v" : f32
  %column = logitile.column : i32
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %column, %zero : i32
  %chosen = arith.select %first, %t, %z : f32
  %x = arith.divf %chosen, %v : f32
  %entry = logitile.gather %x[%zero] : f32
  %above = arith.cmpf ogt, %x, %entry : f32
  %count = logitile.reduce count %above : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// An entry where x is 0 is what is subtracted from x: it is not made of itself.
// CHECK-LABEL: logitile.program @addend
// CHECK: %[[LOG:.*]] = math.log
// CHECK: logitile.yield
logitile.loss @addend vocab 100 outputs ["loss"] {
  %column = logitile.column : i32
  %four = arith.constant 4 : i32
  %eight = arith.constant 8 : i32
  %z = logitile.input logits "z" : f32
  %zero = arith.subf %z, %z : f32
  %inf = arith.constant 0xFF800000 : f32
  %first = arith.cmpi ne, %column, %four : i32
  %x = arith.select %first, %zero, %inf : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %again = logitile.reduce logsumexp %log_p : f32 -> f32
  %log_q = arith.subf %log_p, %again : f32
  %q = logitile.gather %log_q[%eight] : f32
  %lse_z = logitile.reduce logsumexp %z : f32 -> f32
  %loss = arith.addf %q, %lse_z : f32
  logitile.yield %loss : f32
}

// Entry 0 of a product with the column is 0 for all logits, so no sweep picks its logit. The entry
// of the softmax is made as those of the sweep are.
// CHECK-LABEL: logitile.program @product_with_column
// CHECK: logitile.finish @finish1 forward of @forward0
// CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NOT: math.log
// CHECK: %[[DISTANCE:.*]] = arith.subf %[[ZERO]], %[[MAX]] : f32
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[DISTANCE]] : f32
// CHECK-NEXT: %[[ENTRY:.*]] = arith.mulf %[[EXP]], %{{.*}} : f32
// CHECK-NEXT: logitile.yield %{{.*}}, %[[ENTRY]] : f32
logitile.loss @product_with_column vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %column = logitile.column : i32
  %number = arith.sitofp %column : i32 to f32
  %e = math.exp %z : f32
  %x = arith.mulf %number, %e : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %zero = arith.constant 0 : i32
  %entry = logitile.gather %p[%zero] : f32
  %largest = arith.cmpf oge, %p, %entry : f32
  %count = logitile.reduce count %largest : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

// Nor does the entry of u matter at entry 0, but that of v does: it is gathered, because memory can
// be read anywhere.
// CHECK-LABEL: logitile.program @dropped_input
// CHECK: logitile.finish @finish0_1 prologue results ["{{v[0-9]+}}" : f32]
// CHECK: logitile.input vocab "v" : f32
// CHECK-NEXT: logitile.gather
// CHECK: logitile.finish @finish1 forward of @forward0
// CHECK: %[[V:.*]] = logitile.known <@finish0_1[0]> : f32
// CHECK-NEXT: arith.addf %{{.*}}, %[[V]] : f32
// CHECK-NOT: math.log
// CHECK: logitile.sweep @forward1
logitile.loss @dropped_input vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %u = logitile.input vocab "u" : f32
  %v = logitile.input vocab "v" : f32
  %column = logitile.column : i32
  %number = arith.sitofp %column : i32 to f32
  %e = math.exp %u : f32
  %part = arith.mulf %number, %e : f32
  %sum = arith.addf %part, %v : f32
  %x = arith.addf %sum, %z : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %p = math.exp %log_p : f32
  %zero = arith.constant 0 : i32
  %entry = logitile.gather %p[%zero] : f32
  %largest = arith.cmpf oge, %p, %entry : f32
  %count = logitile.reduce count %largest : i1 -> i32
  %loss = arith.sitofp %count : i32 to f32
  logitile.yield %loss : f32
}

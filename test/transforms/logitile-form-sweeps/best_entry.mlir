// The index of the largest entry, and what is carried beside it.
// RUN: %form_sweeps %s | FileCheck %s

// An entry takes over if it is better, and a NaN is better than any number; columns ascend, so
// equals never take over. Of two parts the better one wins, of equals and of two NaN the lower
// index, and a part that saw nothing loses. Another projection's entry at that index is carried
// along: no further sweep.
// CHECK-LABEL: logitile.program @carried
// CHECK-SAME: indices [] checked []
// CHECK: state ["arg0.index" : i32, "arg0.value" : f32, "carry1" : f32]
// CHECK: } update {
// CHECK: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK: %[[BETTER:.*]] = arith.cmpf ugt, %[[Z]], %arg0.value : f32
// CHECK: %[[OPEN:.*]] = arith.cmpf ord, %arg0.value, %arg0.value : f32
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %arg0.index, %c2147483647_i32 : i32
// CHECK: %[[WINS:.*]] = arith.andi %[[BETTER]], %[[OPEN]] : i1
// CHECK: %[[TAKE:.*]] = arith.ori %[[WINS]], %[[NONE]] : i1
// CHECK: %[[T:.*]] = logitile.input logits "t" : f32
// CHECK: arith.select %[[TAKE]], %[[T]], %carry1 : f32
// CHECK: } merge {
// CHECK: %[[LOWER:.*]] = arith.cmpi slt, %arg0.index.b, %arg0.index.a : i32
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %arg0.index.b, %c2147483647_i32 : i32
// CHECK: %[[TAKE:.*]] = arith.andi %[[SOME]], %{{.*}} : i1
// CHECK-NEXT: arith.select %[[TAKE]], %arg0.index.b, %arg0.index.a : i32
// CHECK-NEXT: arith.select %[[TAKE]], %arg0.value.b, %arg0.value.a : f32
// CHECK-NEXT: arith.select %[[TAKE]], %carry1.b, %carry1.a : f32
// CHECK-NOT: logitile.sweep
logitile.loss @carried vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %best = logitile.reduce argmax %z : f32 -> i32
  %loss = logitile.gather %t[%best] : f32
  logitile.yield %loss : f32
}

// A maximum is the entry at the argmax, so it is a row of the gradient.
// CHECK-LABEL: logitile.program @largest
// CHECK: state ["arg0.index" : i32, "arg0.value" : f32, "carry1" : f32]
// CHECK: logitile.finish @finish1 {{.*}} results ["loss" : f32, "{{v[0-9]+}}" : i32]
// CHECK-NEXT: ^bb0(%arg0.index: i32, %arg0.value: f32, %carry1: f32):
// CHECK-NEXT: logitile.yield %carry1, %arg0.index : f32, i32
// CHECK: logitile.gradient {
// CHECK-NEXT: %[[INDEX:.*]] = logitile.known <@finish1[1]> : i32
// CHECK: logitile.adjoint logits "z" sparse [%[[INDEX]] -> %{{.*}}]
logitile.loss @largest vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %loss = logitile.reduce max %z : f32 -> f32
  logitile.yield %loss : f32
}

// What does not change the order does not change the entry: one argmax for z, a positive multiple,
// and exp.
// CHECK-LABEL: logitile.program @one_order
// CHECK: state ["arg0.index" : i32, "arg0.value" : f32]
// CHECK-NOT: logitile.sweep
logitile.loss @one_order vocab 100 outputs ["a", "b"] {
  %z = logitile.input logits "z" : f32
  %half = arith.constant 0.5 : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %scaled = arith.mulf %p, %half : f32
  %a = logitile.reduce argmax %scaled : f32 -> i32
  %b = logitile.reduce argmax %z : f32 -> i32
  logitile.yield %a, %b : i32, i32
}

// Of log-probabilities that are NaN the first is the best. A mask of -inf makes none of them, a
// value that a caller gives may.
// CHECK-LABEL: logitile.program @of_probabilities
// CHECK: state ["arg0.index" : i32, "arg0.value" : f32, "arg1.index" : i32, "arg1.value" : f32, "pick2" : f32, "carry3" : f32]
// CHECK: logitile.yield %arg0.index, %arg1.index, %pick2, %carry3
// CHECK: logitile.finish {{.*}} results ["given" : i32, "entry" : f32]
// CHECK: %[[BEST:.*]] = logitile.known <@finish1[1]> : i32
// CHECK: logitile.gather %{{.*}}[%[[BEST]]] : f32
// CHECK: %[[NAN:.*]] = math.isnan %{{.*}} : f32
// CHECK-NEXT: %[[GIVEN:.*]] = arith.select %[[NAN]], %c0_i32, %[[BEST]] : i32
// CHECK-NEXT: %[[FIRST:.*]] = logitile.known <@finish1[2]> : f32
// CHECK-NEXT: %[[CARRIED:.*]] = logitile.known <@finish1[3]> : f32
// CHECK: %[[ENTRY:.*]] = arith.select %[[NAN]], %[[FIRST]], %[[CARRIED]] : f32
// CHECK: logitile.yield %[[GIVEN]], %[[ENTRY]] : i32, f32
logitile.loss @of_probabilities vocab 100 outputs ["masked", "given", "entry"] {
  %z = logitile.input logits "z" : f32
  %d = logitile.input dense "d" : f32
  %m = logitile.input vocab "m" : i1
  %out = arith.constant 0xFF800000 : f32
  %kept = arith.select %m, %z, %out : f32
  %lse = logitile.reduce logsumexp %kept : f32 -> f32
  %log_p = arith.subf %kept, %lse : f32
  %masked = logitile.reduce argmax %log_p : f32 -> i32
  %lse_d = logitile.reduce logsumexp %d : f32 -> f32
  %log_p_d = arith.subf %d, %lse_d : f32
  %given = logitile.reduce argmax %log_p_d : f32 -> i32
  %entry = logitile.gather %z[%given] : f32
  logitile.yield %masked, %given, %entry : i32, i32, f32
}

// Conditions are counted; any and all are questions about the counts. An output that is true or
// false is known as 0 or 1.
// CHECK-LABEL: logitile.program @counted
// CHECK-SAME: #logitile.output<"some" : i1 is <@finish1[1]>>
// CHECK: state ["count0" : i32, "count1" : i32]
// CHECK: } update {
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt
// CHECK: %[[ONE:.*]] = arith.extui %[[ABOVE]] : i1 to i32
// CHECK: arith.addi %count0, %[[ONE]] : i32
// CHECK: logitile.finish @finish1 forward of @forward0 results ["rank" : i32, "some" : i32, "every" : i32]
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %count0, %{{.*}} : i32
// CHECK-NEXT: arith.extui %[[SOME]] : i1 to i32
// CHECK-NEXT: arith.cmpi eq, %count1, %{{.*}} : i32
logitile.loss @counted vocab 100 outputs ["rank", "some", "every"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" : f32
  %above = arith.cmpf ogt, %z, %a : f32
  %rank = logitile.reduce count %above : i1 -> i32
  %some = logitile.reduce any %above : i1 -> i1
  %every = logitile.reduce all %above : i1 -> i1
  logitile.yield %rank, %some, %every : i32, i1, i1
}

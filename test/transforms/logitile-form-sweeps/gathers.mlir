// Sparse terms: logits are caught as they pass, inputs in memory are gathered by the finish.
// RUN: %form_sweeps %s | FileCheck %s

// A pick goes through elementwise operations to inputs. Outside the vocabulary there is no entry:
// NaN.
// CHECK-LABEL: logitile.program @leaves
// CHECK-SAME: indices ["target"] checked []
// CHECK: state ["pick0" : f32]
// CHECK: } update {
// CHECK: %[[COLUMN:.*]] = logitile.column : i32
// CHECK-NEXT: %[[TARGET:.*]] = logitile.input token "target" : i32
// CHECK-NEXT: %[[HERE:.*]] = arith.cmpi eq, %[[COLUMN]], %[[TARGET]] : i32
// CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK-NEXT: arith.select %[[HERE]], %[[Z]], %pick0 : f32
// CHECK: } merge {
// CHECK: arith.addf %pick0.a, %pick0.b : f32
// CHECK: logitile.finish @finish1
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: %[[PICKED:.*]] = arith.select %[[INSIDE]], %pick0, %[[NAN:.*]] : f32
// CHECK: %[[BIAS:.*]] = logitile.gather
// CHECK: arith.select %[[INSIDE]], %[[BIAS]], %[[NAN]] : f32
logitile.loss @leaves vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %bias = logitile.input vocab "bias" : f32
  %target = logitile.input token "target" : i32
  %x = arith.addf %z, %bias : f32
  %loss = logitile.gather %x[%target] : f32
  logitile.yield %loss : f32
}

// Each index that was itself gathered takes a finish of its own, and so one kernel after the other.
// An index out of a table is checked after the call; that of a minimum is in range.
// CHECK-LABEL: logitile.program @steps
// CHECK-SAME: indices [] checked [#logitile.result<@finish1_1[0]>]
// CHECK: logitile.finish @finish1 forward of @forward0 results ["{{v[0-9]+}}" : i32]
// CHECK: logitile.finish @finish1_1 forward results ["{{v[0-9]+}}" : i32]
// CHECK: %[[INDEX:.*]] = logitile.known <@finish1[0]> : i32
// CHECK-NEXT: %[[TABLE:.*]] = logitile.input vocab "next" : i32
// CHECK-NEXT: logitile.gather %[[TABLE]][%[[INDEX]]] : i32
// CHECK: logitile.finish @finish1_2 forward results ["loss" : f32]
// CHECK: logitile.known <@finish1_1[0]> : i32
logitile.loss @steps vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %next = logitile.input vocab "next" : i32
  %w = logitile.input vocab "w" : f32
  %best = logitile.reduce argmin %z : f32 -> i32
  %after = logitile.gather %next[%best] : i32
  %loss = logitile.gather %w[%after] : f32
  logitile.yield %loss : f32
}

// A computed index has to be known, so that its range can be checked; here it needs no logits.
// CHECK-LABEL: logitile.program @computed
// CHECK-SAME: indices [] checked [#logitile.result<@finish0[0]>]
// CHECK: logitile.finish @finish0 prologue results ["{{v[0-9]+}}" : i32]
// CHECK: logitile.gradient {
// CHECK-NEXT: %[[INDEX:.*]] = logitile.known <@finish0[0]> : i32
// CHECK-NEXT: %[[COEFFICIENT:.*]] = logitile.known <@finish{{[0-9_]+\[[0-9]\]}}> : f32
// CHECK-NEXT: logitile.adjoint logits "z" sparse [%[[INDEX]] -> %[[COEFFICIENT]]]
logitile.loss @computed vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %target = logitile.input token "target" : i32
  %one = arith.constant 1 : i32
  %next = arith.addi %target, %one : i32
  %loss = logitile.gather %z[%next] : f32
  logitile.yield %loss : f32
}

// An index that is a sum of entries of the same logits: the pick takes the sweep after it.
// CHECK-LABEL: logitile.program @later
// CHECK-SAME: checked [#logitile.result<@[[RANK:finish1[_0-9]*\[[0-9]\]]]>]
// CHECK: logitile.sweep @forward0 forward state ["count0" : i32]
// CHECK: logitile.sweep @forward1 forward state ["pick1" : f32]
// CHECK: logitile.known <@[[RANK]]> : i32
logitile.loss @later vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" : f32
  %above = arith.cmpf ogt, %z, %a : f32
  %rank = logitile.reduce count %above : i1 -> i32
  %loss = logitile.gather %z[%rank] : f32
  logitile.yield %loss : f32
}

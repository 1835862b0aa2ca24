// A distance from an entry or a mean stays whole beside another value that varies: it may be small
// and exact where the sum of the logits and that value would be rounded as the logits are.
// contract: 5 one value
// RUN: %form_sweeps %s | FileCheck %s

// CHECK-LABEL: logitile.program @from_an_entry
// CHECK: logitile.sweep @forward0 forward state ["pick0" : f32]
// CHECK: logitile.sweep @forward1
// CHECK: } candidate {
// CHECK-DAG: %[[V:.*]] = logitile.input vocab "v" : f32
// CHECK-DAG: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK-DAG: %[[ENTRY:.*]] = logitile.known <@finish1[0]> : f32
// CHECK: %[[DISTANCE:.*]] = arith.subf %[[Z]], %[[ENTRY]] : f32
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[V]], %[[DISTANCE]] : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32
logitile.loss @from_an_entry vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %v = logitile.input vocab "v" : f32
  %y = logitile.input token "y" : i32
  %entry = logitile.gather %z[%y] : f32
  %d = arith.subf %z, %entry : f32
  %x = arith.addf %d, %v : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// CHECK-LABEL: logitile.program @from_a_mean_under_an_exponential
// CHECK: logitile.sweep @forward1
// CHECK: } update {
// CHECK: %[[DISTANCE:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK: %[[X:.*]] = arith.addf %{{.*}}, %[[DISTANCE]] : f32
// CHECK-NEXT: %[[EXACT:.*]] = arith.addf %[[X]], %{{.*}} : f32
// CHECK-NEXT: math.exp %[[EXACT]] : f32
logitile.loss @from_a_mean_under_an_exponential vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %v = logitile.input vocab "v" : f32
  %mean = logitile.reduce mean %z : f32 -> f32
  %d = arith.subf %z, %mean : f32
  %x = arith.addf %d, %v : f32
  %e = math.exp %x : f32
  %loss = logitile.reduce sum %e : f32 -> f32
  logitile.yield %loss : f32
}

// One sweep is enough where a sum that is rounded already is what the entry is subtracted from,
// CHECK-LABEL: logitile.program @after_the_sum
// CHECK: logitile.sweep @forward0
// CHECK-NOT: logitile.sweep
// CHECK-LABEL: logitile.program @alone
logitile.loss @after_the_sum vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %v = logitile.input vocab "v" : f32
  %y = logitile.input token "y" : i32
  %entry = logitile.gather %z[%y] : f32
  %d = arith.addf %z, %v : f32
  %x = arith.subf %d, %entry : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// and where nothing else varies.
// CHECK: logitile.sweep @forward0
// CHECK-NOT: logitile.sweep
logitile.loss @alone vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %b = logitile.input token "b" : f32
  %y = logitile.input token "y" : i32
  %entry = logitile.gather %z[%y] : f32
  %d = arith.subf %z, %entry : f32
  %x = arith.addf %d, %b : f32
  %loss = logitile.reduce logsumexp %x : f32 -> f32
  logitile.yield %loss : f32
}

// A sum that is linear in logits is taken about a running maximum: the large part of the logits would round it.
// contract: 5 factoring
// RUN: %form_sweeps %s | FileCheck %s

// Weighted by the exponential whose maximum it is centred on. When that moves, the moment moves by weight * distance.
// CHECK-LABEL: logitile.program @moment
// CHECK: state ["max0" : f32, "exp1" : f32, "exp2" : f32]
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: %[[TERM:.*]] = logitile.weigh %[[E]], %[[X]] : f32
// CHECK-NEXT: arith.addf %exp2, %[[TERM]] : f32
// CHECK: } merge {
// CHECK: %[[MOVED:.*]] = arith.subf %max0.a, %{{.*}} : f32
// CHECK: %[[RATIO:.*]] = math.exp %[[MOVED]] : f32
// CHECK: %[[SHIFT:.*]] = logitile.weigh %exp1.a, %[[MOVED]] : f32
// CHECK-NEXT: %[[MOMENT:.*]] = arith.addf %exp2.a, %[[SHIFT]] : f32
// CHECK-NEXT: logitile.weigh %[[RATIO]], %[[MOMENT]] : f32
logitile.loss @moment vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %term = logitile.weigh %p, %z : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// Each projection is centred on its own maximum: about that of the difference, z at 300 and t at 100 would round at 200.
// CHECK-LABEL: logitile.program @own_maxima
// CHECK: state ["max0" : f32, "max2" : f32, "exp1" : f32, "exp3" : f32]
// CHECK: } update {
// CHECK-DAG: %[[Z:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK-DAG: %[[T:.*]] = arith.subf %{{.*}}, %max2 : f32
// CHECK: %[[MINUS:.*]] = arith.mulf %[[T]], %{{.*}} : f32
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[Z]], %[[MINUS]] : f32
// CHECK-NEXT: logitile.weigh %{{.*}}, %[[D]] : f32
logitile.loss @own_maxima vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %d = arith.subf %z, %t : f32
  %term = logitile.weigh %p, %d : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// A mean has no weights: the columns that were seen move it.
// CHECK-LABEL: logitile.program @mean
// CHECK: state ["max0" : f32, "sum1" : f32, "columns" : f32]
// CHECK: } merge {
// CHECK: %[[COLUMNS:.*]] = arith.addf %columns.a, %columns.b : f32
// CHECK: %[[MOVED:.*]] = arith.subf %max0.a, %{{.*}} : f32
// CHECK-NEXT: logitile.weigh %columns.a, %[[MOVED]] : f32
logitile.loss @mean vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %loss = logitile.reduce mean %z : f32 -> f32
  logitile.yield %loss : f32
}

// Raw logits under other weights are summed as they are: about their maximum, far from their mean, they would cancel.
// CHECK-LABEL: logitile.program @raw
// CHECK: state ["sum1" : f32]
logitile.loss @raw vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %term = arith.mulf %q, %z : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

// With an unfinished addend pulled out beside them they are centred: addend and centre cancel in the finish.
// CHECK-LABEL: logitile.program @pulled
// CHECK: state ["max0" : f32, "exp1" : f32, "sum2" : f32, "sum3" : f32]
// CHECK: } update {
// CHECK: %[[X:.*]] = arith.subf %{{.*}}, %max0 : f32
// CHECK: %[[TERM:.*]] = arith.mulf %{{.*}}, %[[X]] : f32
// CHECK-NEXT: arith.addf %sum3, %[[TERM]] : f32
// CHECK-NOT: logitile.sweep
logitile.loss @pulled vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %q = logitile.input vocab "q" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %term = arith.mulf %q, %log_p : f32
  %loss = logitile.reduce sum %term : f32 -> f32
  logitile.yield %loss : f32
}

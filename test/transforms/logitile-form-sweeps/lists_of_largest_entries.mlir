// Lists of largest entries that a loss reads: a finish after the sweep leaves them in memory, for
// finishes of places and for the gradient.
// RUN: %form_sweeps %s | FileCheck %s

// The entries at the indices are those of the list: one sweep. In the gradient the indices are
// columns.
// CHECK-LABEL: logitile.program @entropy_of_best
// CHECK: logitile.sweep @forward0 forward state ["max{{.*}}" : f32, "exp{{.*}}.high" : f32, "exp{{.*}}.low" : f32] lists [64] init {
// CHECK: logitile.finish @[[LIST:places[0-9]+]] forward of @forward0 list 0 results ["{{.*}}" : i32, "{{.*}}" : f32] {
// CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32, %[[INDEX:.*]]: i32):
// CHECK-NEXT: logitile.yield %[[INDEX]], %[[VALUE]] : i32, f32
// CHECK: logitile.finish @finish1_sums64 forward places 64 summed results ["{{.*}}" : f32] {
// CHECK: logitile.known <@[[LIST]][1]> : f32
// CHECK: logitile.finish @[[TERMS:finish.*_lists64]] backward places 64 results ["row.z.0" : f32] {
// CHECK: logitile.known <@[[LIST]][1]> : f32
// CHECK: logitile.gradient {
// CHECK: %[[COLUMNS:.*]] = logitile.known <@[[LIST]][0]> : i32
// CHECK: %[[COEFFICIENTS:.*]] = logitile.known <@[[TERMS]][0]> : f32
// CHECK: logitile.adjoint logits "z" dense %{{.*}} sparse [%[[COLUMNS]] -> %[[COEFFICIENTS]]]
// CHECK-NOT: logitile.sweep
logitile.loss @entropy_of_best vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %indices = logitile.reduce argtop %log_p places 64 : f32 -> i32
  %best = logitile.gather %log_p[%indices] : f32
  %p = math.exp %best : f32
  %term = arith.mulf %p, %best : f32
  %loss = logitile.sum_list %term : f32
  logitile.yield %loss : f32
}

// Other logits are picked in another sweep, at the indices in memory.
// CHECK-LABEL: logitile.program @elsewhere
// CHECK: logitile.sweep @forward0 forward state [] lists [5] init {
// CHECK: logitile.finish @[[LIST:places[0-9]+]] forward of @forward0 list 0 results ["{{.*}}" : i32] {
// CHECK: logitile.sweep @forward1 forward state [] picks [#logitile.pick<"t" at #logitile.result<@[[LIST]][0]> places 5>] init {
// CHECK: logitile.finish @{{.*}} forward places 5 summed
// CHECK: logitile.picked <@forward1[0]> : f32
// CHECK-NOT: logitile.sweep
logitile.loss @elsewhere vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %indices = logitile.reduce argtop %z places 5 : f32 -> i32
  %picked = logitile.gather %t[%indices] : f32
  %loss = logitile.sum_list %picked : f32
  logitile.yield %loss : f32
}

// A derivative that needs logits at the indices has them picked in a backward sweep; the loss takes
// one sweep.
// CHECK-LABEL: logitile.program @capped
// CHECK: logitile.sweep @forward0 forward state [] lists [5] init {
// CHECK: logitile.sweep @backward0 backward state [] picks [#logitile.pick<"z" at #logitile.result<@{{.*}}> places 5>] init {
// CHECK: logitile.picked <@backward0[0]> : f32
logitile.loss @capped vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %two = arith.constant 2.0 : f32
  %tanh = math.tanh %z : f32
  %x = arith.mulf %tanh, %two : f32
  %indices = logitile.reduce argtop %x places 5 : f32 -> i32
  %best = logitile.gather %x[%indices] : f32
  %loss = logitile.sum_list %best : f32
  logitile.yield %loss : f32
}

// A Vocab input is read at indices in memory. An entry of an exponential is the exponential of an
// entry: the list has it all the same.
// CHECK-LABEL: logitile.program @probabilities
// CHECK: logitile.finish @[[LIST:places[0-9]+]] forward of @forward1 list 0 results
// CHECK: logitile.finish @{{.*}} forward places 5 summed
// CHECK: %[[INDEX:.*]] = logitile.known <@[[LIST]][{{.*}}]> : i32
// CHECK: logitile.gather %{{.*}}[%[[INDEX]]] : f32
// CHECK-NOT: picks
logitile.loss @probabilities vocab 100 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %b = logitile.input vocab "b" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %p = math.exp %log_p : f32
  %indices = logitile.reduce argtop %p places 5 : f32 -> i32
  %best = logitile.gather %log_p[%indices] : f32
  %probability = math.exp %best : f32
  %weight = logitile.gather %b[%indices] : f32
  %term = arith.mulf %probability, %weight : f32
  %loss = logitile.sum_list %term : f32
  logitile.yield %loss : f32
}

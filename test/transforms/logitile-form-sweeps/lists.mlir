// The largest entries in order: a list beside the row state, made in the sweep that the rest needs
// anyway.
// RUN: %form_sweeps %s | FileCheck %s

// One sweep finds the logsumexp and the entries. What is added to every entry is added to the list,
// after the finish that knows it.
// CHECK-LABEL: logitile.program @log_probabilities
// CHECK-SAME: outputs [#logitile.output<"values" : f32 is <@list[[N:[0-9]+]][0]>>, #logitile.output<"indices" : i32 is <@list[[N]][1]>>]
// CHECK: logitile.sweep @forward0 forward state ["max{{.*}}" : f32, "exp{{.*}}.high" : f32, "exp{{.*}}.low" : f32] lists [50] init {
// CHECK: } rank {
// CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
// CHECK-NEXT: logitile.yield %[[Z]] : f32
// CHECK: logitile.finish @finish1 forward of @forward0 results
// CHECK: logitile.finish @list[[N]] forward of @forward0 list 0 results ["values" : f32, "indices" : i32]
// CHECK-NEXT: ^bb0(%value: f32, %index: i32):
// CHECK: %[[LSE:.*]] = logitile.known <@finish1[0]> : f32
// CHECK: %[[VALUE:.*]] = arith.subf %value, %[[LSE]] : f32
// CHECK: logitile.yield %{{.*}}, %index : f32, i32
// CHECK-NOT: logitile.sweep
logitile.loss @log_probabilities vocab 100 outputs ["values", "indices"] {
  %z = logitile.input logits "z" : f32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %log_p = arith.subf %z, %lse : f32
  %values = logitile.reduce top %log_p places 50 : f32 -> f32
  %indices = logitile.reduce argtop %log_p places 50 : f32 -> i32
  logitile.yield %values, %indices : f32, i32
}

// Lists of several values and lengths share a sweep, which may have nothing else.
// CHECK-LABEL: logitile.program @several
// CHECK: logitile.sweep @forward0 forward state [] lists [5, 7] init {
// CHECK: } rank {
// CHECK: logitile.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK: logitile.finish @list1 forward of @forward0 list 1 results ["b" : i32]
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %[[INDEX:.*]]: i32):
// CHECK-NEXT: logitile.yield %[[INDEX]] : i32
// CHECK: logitile.finish @list0 forward of @forward0 list 0 results ["a" : f32]
logitile.loss @several vocab 100 outputs ["a", "b"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input logits "t" : f32
  %half = arith.constant 0.5 : f32
  %scaled = arith.mulf %t, %half : f32
  %a = logitile.reduce top %z places 5 : f32 -> f32
  %b = logitile.reduce argtop %scaled places 7 : f32 -> i32
  logitile.yield %a, %b : f32, i32
}

// Values with a list are what exponents are made of, rounded as in the list: its best entry cancels
// the maximum.
// CHECK-LABEL: logitile.program @scaled_list
// CHECK: } candidate {
// CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32
logitile.loss @scaled_list vocab 100 outputs ["best"] {
  %z = logitile.input logits "z" : f32
  %third = arith.constant 0.333333343 : f32
  %x = arith.mulf %z, %third : f32
  %lse = logitile.reduce logsumexp %x : f32 -> f32
  %log_p = arith.subf %x, %lse : f32
  %list = logitile.reduce top %log_p places 3 : f32 -> f32
  logitile.yield %list : f32
}

// Of values less a mean that may be infinite, the list and the index are their own: all may be
// infinite or no number.
// CHECK-LABEL: logitile.program @less_infinity
// CHECK: logitile.sweep @forward1 forward state ["arg{{.*}}.index" : i32, "arg{{.*}}.value" : f32] lists [2] init
// CHECK: } rank {
// CHECK: %[[MEAN:.*]] = logitile.known <@finish1[0]> : f32
// CHECK: arith.subf %{{.*}}, %[[MEAN]] : f32
logitile.loss @less_infinity vocab 100 outputs ["indices", "best"] {
  %z = logitile.input logits "z" : f32
  %m = logitile.input vocab "m" : i1
  %inf = arith.constant 0xFF800000 : f32
  %masked = arith.select %m, %z, %inf : f32
  %mean = logitile.reduce mean %masked : f32 -> f32
  %x = arith.subf %masked, %mean : f32
  %indices = logitile.reduce argtop %x places 2 : f32 -> i32
  %best = logitile.reduce argmax %x : f32 -> i32
  logitile.yield %indices, %best : i32, i32
}

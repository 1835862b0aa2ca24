// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // CHECK: logitile.sweep @statistics forward state ["max" : f32, "sum" : f32, "best" : i32, "any" : i1] init {
  logitile.sweep @statistics forward state ["max" : f32, "sum" : f32, "best" : i32, "any" : i1] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.constant -1 : i32
    %no = arith.constant false
    // CHECK: logitile.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, i32, i1
    logitile.yield %lowest, %zero, %none, %no : f32, f32, i32, i1
  // CHECK-NEXT: } candidate {
  } candidate {
    // CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
    // CHECK-NEXT: logitile.yield %[[Z]] : f32
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  // CHECK-NEXT: } update {
  // CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %[[SUM:.*]]: f32, %[[BEST:.*]]: i32, %[[ANY:.*]]: i1):
  } update {
  ^bb0(%max: f32, %sum: f32, %best: i32, %any: i1):
    // CHECK-NEXT: %[[COLUMN:.*]] = logitile.column : i32
    %column = logitile.column : i32
    // CHECK-NEXT: logitile.yield %[[MAX]], %[[SUM]], %[[COLUMN]], %[[ANY]] : f32, f32, i32, i1
    logitile.yield %max, %sum, %column, %any : f32, f32, i32, i1
  // CHECK-NEXT: } merge {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %{{.*}}: f32, %{{.*}}: i32, %{{.*}}: i1, %{{.*}}: f32, %[[SB:.*]]: f32, %[[BB:.*]]: i32, %[[CB:.*]]: i1):
  } merge {
  ^bb0(%ma: f32, %sa: f32, %ba: i32, %aa: i1, %mb: f32, %sb: f32, %bb: i32, %ab: i1):
    // CHECK-NEXT: logitile.yield %[[A]], %[[SB]], %[[BB]], %[[CB]] : f32, f32, i32, i1
    logitile.yield %ma, %sb, %bb, %ab : f32, f32, i32, i1
  }
  // A sweep without maxima has no candidates; the phases are forward, backward and fused.
  // CHECK: logitile.sweep @sums backward state ["sum" : f32] attributes {note} init {
  logitile.sweep @sums backward state ["sum" : f32] attributes {note} init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  // CHECK: } candidate {
  // CHECK-NEXT: logitile.yield{{$}}
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    logitile.yield %sum : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  }
  // CHECK: logitile.sweep @fused fused state ["any" : i1] init {
  logitile.sweep @fused fused state ["any" : i1] init {
    %no = arith.constant false
    logitile.yield %no : i1
  } candidate {
    logitile.yield
  } update {
  ^bb0(%any: i1):
    logitile.yield %any : i1
  } merge {
  ^bb0(%a: i1, %b: i1):
    %both = arith.ori %a, %b : i1
    logitile.yield %both : i1
  }
}

// CHECK-LABEL: logitile.program @lists
logitile.program @lists vocab 5 outputs [#logitile.output<"best" : i32 is <@top[0]>>] indices [] checked [] {
  // CHECK: logitile.sweep @s forward state [] lists [3, 2] init {
  logitile.sweep @s forward state [] lists [3, 2] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  // CHECK: } rank {
  } rank {
    // CHECK-NEXT: %[[Z:.*]] = logitile.input logits "z" : f32
    // CHECK-NEXT: logitile.yield %[[Z]], %[[Z]] : f32, f32
    %z = logitile.input logits "z" : f32
    logitile.yield %z, %z : f32, f32
  }
  // CHECK: logitile.finish @top forward of @s list 1 results ["best" : i32] {
  logitile.finish @top forward of @s list 1 results ["best" : i32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %index : i32
  }
}

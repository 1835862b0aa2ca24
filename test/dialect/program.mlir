// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @empty vocab 32000 outputs [] indices [] checked [] {
// CHECK-NEXT: }
logitile.program @empty vocab 32000 outputs [] indices [] checked [] {
}

// Parts are in the order in which they run. Results of a finish are known after it.
// CHECK-LABEL: logitile.program @parts vocab 5 outputs [#logitile.output<"loss" : f32 is <@second[0]>>, #logitile.output<"best" : i32 is <@first[0]>>] indices ["target"] checked [#logitile.result<@first[0]>] attributes {note} {
logitile.program @parts vocab 5 outputs [#logitile.output<"loss" : f32 is <@second[0]>>, #logitile.output<"best" : i32 is <@first[0]>>] indices ["target"] checked [#logitile.result<@first[0]>] attributes {note} {
  // CHECK: logitile.finish @first forward results ["best" : i32]
  logitile.finish @first forward results ["best" : i32] {
    %target = logitile.input token "target" : i32
    logitile.yield %target : i32
  }
  // A gather at an index that is known by now.
  // CHECK: logitile.finish @second forward results ["loss" : f32]
  logitile.finish @second forward results ["loss" : f32] {
    %table = logitile.input vocab "class_weight" : f32
    %best = logitile.known <@first[0]> : i32
    // CHECK: logitile.gather %{{.*}}[%{{.*}}] : f32
    %weight = logitile.gather %table[%best] : f32
    logitile.yield %weight : f32
  }
  // CHECK: logitile.finish @third backward results ["down" : f32]
  logitile.finish @third backward results ["down" : f32] {
    %up = logitile.input cotangent "loss" : f32
    %loss = logitile.known <@second[0]> : f32
    %down = arith.mulf %up, %loss : f32
    logitile.yield %down : f32
  }
  // CHECK: logitile.gradient {
  logitile.gradient {
    %down = logitile.known <@third[0]> : f32
    logitile.adjoint logits "z" dense %down
  }
  // CHECK: logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
  }
}

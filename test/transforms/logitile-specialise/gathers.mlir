// RUN: %specialise %s | FileCheck %s

// A pick of a Vocab or Dense input reads one entry per token; an index that is used for nothing
// else is not loaded as a value.
// CHECK-LABEL: logitile.kernel @finish(%tokens: index from tokens, %weight: !logitile.view<300xf32> from @weight,
// CHECK-SAME: %target: !logitile.view<?xi32> from @target, %q: !logitile.view<?x300xf32> from @q, %known_best: !logitile.view<?xi32> from @known_best, %map_q: !logitile.view<?xi32> from @map_q,
// CHECK-SAME: %known_x: !logitile.view<?xf32> from @known_x) {
// CHECK: %[[TARGET:.*]] = logitile.load %target at [%row] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
// CHECK-NEXT: %[[WEIGHT:.*]] = logitile.load_gather %weight[%[[TARGET]]] : !logitile.view<300xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: %[[BEST:.*]] = logitile.load %known_best at [%row] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
// CHECK-NEXT: %[[Q:.*]] = logitile.load_gather %q[%[[BEST]]] at %row through %map_q : !logitile.view<?x300xf32>, !logitile.tile<64x1xi32>, !logitile.view<?xi32> -> !logitile.tile<64x1xf32>
// CHECK: %result = logitile.map(%[[WEIGHT]], %[[Q]]) : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
// CHECK-NEXT: ^bb0(%[[W:.*]]: f32, %[[P:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[W]], %[[P]] : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32

// In a gradient the same Vocab input may be read both ways: as a row of the tile and at an index.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK: %z = logitile.load %stored_z
// CHECK-NEXT: %[[ROW:.*]] = logitile.load %weight at [%column] : !logitile.view<300xf32> -> !logitile.tile<1x32xf32>
// CHECK-NEXT: %[[INDEX:.*]] = logitile.load %target at [%row]
// CHECK-NEXT: %[[ENTRY:.*]] = logitile.load_gather %weight[%[[INDEX]]]
// CHECK-NEXT: %g = logitile.map(%z, %[[ROW]], %[[ENTRY]]) at %column
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices ["target"] checked [#logitile.result<@first[0]>] {
  logitile.finish @first forward results ["best" : i32] {
    %best = logitile.input token "t" : i32
    logitile.yield %best : i32
  }
  logitile.finish @second forward results ["x" : f32] {
    %weights = logitile.input vocab "weight" : f32
    %target = logitile.input token "target" : i32
    %weight = logitile.gather %weights[%target] : f32
    %q = logitile.input dense "q" : f32
    %best = logitile.known <@first[0]> : i32
    %p = logitile.gather %q[%best] : f32
    %x = arith.mulf %weight, %p : f32
    logitile.yield %x : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %weights = logitile.input vocab "weight" : f32
    %target = logitile.input token "target" : i32
    %weight = logitile.gather %weights[%target] : f32
    %0 = arith.mulf %weights, %weight : f32
    %1 = arith.mulf %0, %z : f32
    logitile.adjoint logits "z" dense %1
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @weight call input of "weight" : !logitile.view<300xf32>
    logitile.buffer @map_q call input_map of "q" : !logitile.view<?xi32>
    logitile.buffer @q input input of "q" : !logitile.view<?x300xf32>
    logitile.buffer @target call input of "target" : !logitile.view<?xi32>
    logitile.buffer @known_best chunk result of @first[0] : !logitile.view<?xi32>
    logitile.buffer @known_x chunk result of @second[0] : !logitile.view<?xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x300xf32>
    logitile.run forward {
      logitile.launch "finish" from @finish<TM = 64> finish @second
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// Each input is loaded at the indices that it has, and enters the regions as an argument in the
// same order.
// CHECK-LABEL: logitile.kernel @sweep(%tokens: index from tokens, %stored_z: !logitile.view<?x300xf32> from @stored_z,
// CHECK-SAME: %t: !logitile.view<?xi32> from @t, %k_2: !logitile.view<?xf32> from @k_2, %v: !logitile.view<300xf32> from @v,
// CHECK-SAME: %d: !logitile.view<?x300xi1> from @d, %map_d: !logitile.view<?xi32> from @map_d, %s: !logitile.view<1xf32> from @s, %cotangent_loss: !logitile.view<?xf32> from @cotangent_loss,
// CHECK-SAME: %known_x: !logitile.view<?xf32> from @known_x, %state_a_any: !logitile.view<3x?xi1> from @state_a_any) {
// CHECK: %z = logitile.load %stored_z at [%row, %column]
// CHECK-NEXT: %[[T:.*]] = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
// CHECK-NEXT: %[[K:.*]] = logitile.load %k_2 at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: %[[V:.*]] = logitile.load %v at [%column] : !logitile.view<300xf32> -> !logitile.tile<1x32xf32>
// CHECK-NEXT: %[[D:.*]] = logitile.load %d at [%row, %column] through %map_d : !logitile.view<?x300xi1>, !logitile.view<?xi32> -> !logitile.tile<64x32xi1>
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[S:.*]] = logitile.load %s at [%[[ZERO]]] : !logitile.view<1xf32> -> !logitile.tile<1x1xf32>
// CHECK-NEXT: %[[UP:.*]] = logitile.load %cotangent_loss at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: %[[X:.*]] = logitile.load %known_x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: %next = logitile.update_state(%running) with(%z, %[[T]], %[[K]], %[[V]], %[[D]], %[[S]], %[[UP]], %[[X]]) at %column below 300 :
// CHECK: } update {
// CHECK-NEXT: ^bb0(%{{.*}}: i1, %{{.*}}: f32, %[[T_IN:.*]]: i32, %{{.*}}: f32, %[[V_IN:.*]]: f32, %[[D_IN:.*]]: i1, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: arith.cmpi eq, %{{.*}}, %[[T_IN]] : i32
// CHECK: arith.mulf %{{.*}}, %[[V_IN]] : f32
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f backward results ["x" : f32] {
    %x = logitile.input token "y" : f32
    logitile.yield %x : f32
  }
  logitile.sweep @a backward state ["any" : i1] init {
    %no = arith.constant false
    logitile.yield %no : i1
  } candidate {
    logitile.yield
  } update {
  ^bb0(%any: i1):
    %z = logitile.input logits "z" : f32
    %t = logitile.input token "t" : i32
    %k = logitile.input token "k"[2] : f32
    %v = logitile.input vocab "v" : f32
    %d = logitile.input dense "d" : i1
    %s = logitile.input scalar "s" : f32
    %up = logitile.input cotangent "loss" : f32
    %x = logitile.known <@f[0]> : f32
    %column = logitile.column : i32
    %is = arith.cmpi eq, %column, %t : i32
    %0 = arith.mulf %k, %v : f32
    %1 = arith.mulf %s, %up : f32
    %2 = arith.mulf %x, %z : f32
    %3 = arith.addf %0, %1 : f32
    %4 = arith.cmpf ogt, %2, %3 : f32
    %5 = arith.select %is, %4, %d : i1
    logitile.yield %5 : i1
  } merge {
  ^bb0(%l: i1, %r: i1):
    %both = arith.ori %l, %r : i1
    logitile.yield %both : i1
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @map_d call input_map of "d" : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @t call input of "t" : !logitile.view<?xi32>
    logitile.buffer @k_2 call input of "k"[2] : !logitile.view<?xf32>
    logitile.buffer @v call input of "v" : !logitile.view<300xf32>
    logitile.buffer @d input input of "d" : !logitile.view<?x300xi1>
    logitile.buffer @s call input of "s" : !logitile.view<1xf32>
    logitile.buffer @cotangent_loss call cotangent of "loss" : !logitile.view<?xf32>
    logitile.buffer @known_x chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @state_a_any chunk row_state of @a[0] : !logitile.view<3x?xi1>
    logitile.run forward {
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> sweep @a
    }
  }
}

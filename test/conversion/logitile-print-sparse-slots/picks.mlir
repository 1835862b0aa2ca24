// RUN: logitile-opt %s --logitile-print-sparse-slots | FileCheck %s
// A slot is sparse where one column per token decides it: 1 by an index, 2 by one of the other sign
// and form, 3 under a further condition. Not sparse: 0, a maximum; 4, whose index differs along the
// vocabulary; 5, whose value reads the state; 6, which is read by another slot; 7, a sum.

// CHECK: attributes {logitile.sparse = array<i64: 1, 2, 3>}
logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %t: !logitile.view<?xi32> from @t, %f: !logitile.view<?xi1> from @f) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start:8 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
      %c = arith.constant 0.0 : f32
      logitile.yield %c, %c, %c, %c, %c, %c, %c, %c : f32, f32, f32, f32, f32, f32, f32, f32
    }
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %target = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
    %flag = logitile.load %f at [%row] : !logitile.view<?xi1> -> !logitile.tile<64x1xi1>
    %state:8 = logitile.update_state(%start#0, %start#1, %start#2, %start#3, %start#4, %start#5, %start#6, %start#7) with (%tile, %target, %flag) at %zero below 8
        : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>),
          (!logitile.tile<64x8xf32>, !logitile.tile<64x1xi32>, !logitile.tile<64x1xi1>) init {
      %c = arith.constant 0.0 : f32
      logitile.yield %c, %c, %c, %c, %c, %c, %c, %c : f32, f32, f32, f32, f32, f32, f32, f32
    } candidate {
    ^bb0(%x: f32, %i: i32, %ok: i1):
      logitile.yield %x : f32
    } update {
    ^bb0(%max: f32, %a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f_in: f32, %g: f32, %x: f32, %i: i32, %ok: i1):
      %one = arith.constant 1 : i32
      %column = logitile.column : i32
      %is = arith.cmpi eq, %column, %i : i32
      %newA = arith.select %is, %x, %a : f32
      %next = arith.addi %i, %one : i32
      %isNot = arith.cmpi ne, %next, %column : i32
      %y = arith.addf %x, %x : f32
      %newB = arith.select %isNot, %b, %y : f32
      %both = arith.andi %ok, %is : i1
      %newC = arith.select %both, %x, %c : f32
      %varying = arith.fptosi %x : f32 to i32
      %isVarying = arith.cmpi eq, %column, %varying : i32
      %newD = arith.select %isVarying, %x, %d : f32
      %shifted = arith.subf %x, %max : f32
      %newE = arith.select %is, %shifted, %e : f32
      %newF = arith.select %is, %x, %f_in : f32
      %newG = arith.addf %g, %f_in : f32
      logitile.yield %max, %newA, %newB, %newC, %newD, %newE, %newF, %newG : f32, f32, f32, f32, f32, f32, f32, f32
    } merge {
    ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32, %a5: f32, %a6: f32, %a7: f32, %b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %x: f32, %i: i32, %ok: i1):
      logitile.yield %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7 : f32, f32, f32, f32, f32, f32, f32, f32
    }
  }
}

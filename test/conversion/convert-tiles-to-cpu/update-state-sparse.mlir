// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// The logit of a target is not looked for line by line: lanes are visited only where some target
// lies in the tile.

// CHECK-LABEL: func.func @sweep(
// CHECK-NOT: arith.cmpi eq, %{{.*}} : vector<16xi32>
// CHECK: %[[DISTANCE:.*]] = arith.subi %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: %[[HERE:.*]] = arith.cmpi ult, %[[DISTANCE]], %{{.*}} : vector<16xi32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[HERE]] : vector<16xi1> into i1
// CHECK: %[[TILE:.*]] = scf.if %[[ANY]] -> (vector<16xf32>) {
// CHECK:   scf.for
// CHECK:     scf.if
// CHECK:       arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %[[TILE]] : vector<16xf32>
logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %t: !logitile.view<?xi32> from @t, %pp: !logitile.view<1x?xf32> from @p) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start = logitile.init_state : !logitile.tile<64x1xf32> {
      %c0 = arith.constant 0.0 : f32
      logitile.yield %c0 : f32
    }
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %target = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
    %state = logitile.update_state(%start) with (%tile, %target) at %zero below 8 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x8xf32>, !logitile.tile<64x1xi32>) init {
      %c0 = arith.constant 0.0 : f32
      logitile.yield %c0 : f32
    } candidate {
    ^bb0(%x: f32, %i: i32):
      logitile.yield
    } update {
    ^bb0(%old: f32, %x: f32, %i: i32):
      %c = logitile.column : i32
      %is = arith.cmpi eq, %c, %i : i32
      %new = arith.select %is, %x, %old : f32
      logitile.yield %new : f32
    } merge {
    ^bb0(%a: f32, %b: f32, %x: f32, %i: i32):
      %s = arith.addf %a, %b : f32
      logitile.yield %s : f32
    }
    logitile.store %state to %pp at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// The logit of a target: hardly any row has its target among the columns of a tile. A thread
// compares its columns with the target only if the tile has that column: how far that is from the
// thread's first column, with constants. The sum beside it needs every column.

// CHECK-LABEL: llvm.func @sweep(
// CHECK: scf.for
// CHECK:   arith.addf
// CHECK-NOT: arith.cmpi eq
// CHECK:   %[[DISTANCE:.*]] = arith.subi %[[TARGET:.*]], %{{.*}} : i32
// CHECK:   %[[IS_HERE:.*]] = arith.cmpi ult, %[[DISTANCE]], %c64{{.*}} : i32
// CHECK:   %[[FOUND:.*]] = scf.if %[[IS_HERE]] -> (f32) {
// CHECK:     %[[FROM_FIRST:.*]] = arith.subi %[[DISTANCE]], %{{.*}} : i32
// CHECK:     %[[IS:.*]] = arith.cmpi eq, %[[FROM_FIRST]], %c0_i32 : i32
// CHECK:     arith.select %[[IS]]
// CHECK:     arith.cmpi eq, %[[FROM_FIRST]], %c1_i32 : i32
// CHECK:   } else {
// CHECK:   nvvm.shfl.sync bfly %{{.*}}, %[[FOUND]]
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x128xf32> from @z, %y: !logitile.view<?xi32> from @y, %out: !logitile.view<1x?xf32> from @p,
                         %picks: !logitile.view<1x?xf32> from @q) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
        %c0 = arith.constant 0.0 : f32
        logitile.yield %c0, %c0 : f32, f32
      }
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x128xf32> -> !logitile.tile<64x64xf32>
      %target = logitile.load %y at [%row] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
      %next:2 = logitile.update_state(%start#0, %start#1) with (%tile, %target) at %zero below 128
          : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>, !logitile.tile<64x1xi32>) init {
        %c0 = arith.constant 0.0 : f32
        logitile.yield %c0, %c0 : f32, f32
      } candidate {
      ^bb0(%z_in: f32, %t_in: i32):
        logitile.yield
      } update {
      ^bb0(%s: f32, %pick: f32, %z_in: f32, %t_in: i32):
        %sum = arith.addf %s, %z_in : f32
        %column = logitile.column : i32
        %is = arith.cmpi eq, %column, %t_in : i32
        %picked = arith.select %is, %z_in, %pick : f32
        logitile.yield %sum, %picked : f32, f32
      } merge {
      ^bb0(%a: f32, %pickA: f32, %b: f32, %pickB: f32, %z_in: f32, %t_in: i32):
        %sum = arith.addf %a, %b : f32
        %picked = arith.addf %pickA, %pickB : f32
        logitile.yield %sum, %picked : f32, f32
      }
      logitile.store %next#0 to %out at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %next#1 to %picks at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    }
  }
}

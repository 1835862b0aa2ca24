// RUN: logitile-opt %s --convert-tiles-to-cpu=tier=avx512 | FileCheck %s
// Logits of two projections lie where each is kept, and are read there afterwards: views that are stored to share no memory.
// Scratch holds the copied rows of both heads, 16 lines of 32 + 16 elements each, and the difference, 16 lines of 64 + 16, beside 16 sums in 32.

// CHECK: func.func @project({{.*}}) attributes {logitile.scratch_bytes = 11392 : i64}
logitile.kernel @project(%n: index from "tokens", %x: !logitile.view<?x32xf32, row_panels> from "x", %y: !logitile.view<?x32xf32, row_panels> from "y",
                         %w: !logitile.view<160x32xf32> from "w", %z: !logitile.view<?x160xf32, column_major> from "z",
                         %t: !logitile.view<?x160xf32, column_major> from "t", %s: !logitile.view<1x160xf32> from "s") {
  %zero = arith.constant 0 : index
  scf.forall (%row, %column) = (0, 0) to (%n, 160) step (64, 16) {
    %a = logitile.project %x, %w at [%row, %column] by 32 : !logitile.view<?x32xf32, row_panels>, !logitile.view<160x32xf32> -> !logitile.tile<64x16xf32>
    %b = logitile.project %y, %w at [%row, %column] by 32 : !logitile.view<?x32xf32, row_panels>, !logitile.view<160x32xf32> -> !logitile.tile<64x16xf32>
    logitile.store %a to %z at [%row, %column] : !logitile.tile<64x16xf32> to !logitile.view<?x160xf32, column_major>
    logitile.store %b to %t at [%row, %column] : !logitile.tile<64x16xf32> to !logitile.view<?x160xf32, column_major>
    %d = logitile.map(%a, %b) at %column : (!logitile.tile<64x16xf32>, !logitile.tile<64x16xf32>) -> !logitile.tile<64x16xf32> {
    ^bb0(%a_in: f32, %b_in: f32):
      %difference = arith.subf %a_in, %b_in : f32
      logitile.yield %difference : f32
    }
    %sum = logitile.sum_tokens %d at %row below %n : !logitile.tile<64x16xf32> -> !logitile.tile<1x16xf32>
    logitile.store %sum to %s at [%zero, %column] : !logitile.tile<1x16xf32> to !logitile.view<1x160xf32>
  }
}

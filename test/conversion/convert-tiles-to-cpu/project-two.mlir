// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 --split-input-file | FileCheck %s
// Two projections that are kept and read: each lies in its own window, so scratch holds only the
// copied rows of the head, 16 lines of 32 + 16 elements for each of the two, and the row state.

// CHECK: func.func @apart({{.*}}) attributes {logitile.scratch_bytes = 6400 : i64}
logitile.kernel @apart(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<160x32xf32> from @w,
                       %z: !logitile.view<?x160xf32, column_major> from @z, %t: !logitile.view<?x160xf32, column_major> from @t,
                       %s: !logitile.view<1x?xf32> from @s) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %first = logitile.project %x, %w at [%row, %zero] by 32 using panels : !logitile.view<?x32xf32, row_panels>, !logitile.view<160x32xf32> -> !logitile.tile<64x16xf32>
    %second = logitile.project %x, %w at [%row, %zero] by 32 using panels : !logitile.view<?x32xf32, row_panels>, !logitile.view<160x32xf32> -> !logitile.tile<64x16xf32>
    logitile.store %first to %z at [%row, %zero] : !logitile.tile<64x16xf32> to !logitile.view<?x160xf32, column_major>
    logitile.store %second to %t at [%row, %zero] : !logitile.tile<64x16xf32> to !logitile.view<?x160xf32, column_major>
    %start = logitile.init_state : !logitile.tile<64x1xf32> {
      %c = arith.constant 0.0 : f32
      logitile.yield %c : f32
    }
    %state = logitile.update_state(%start) with (%first, %second) at %zero below 160 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x16xf32>, !logitile.tile<64x16xf32>) init {
      %c = arith.constant 0.0 : f32
      logitile.yield %c : f32
    } candidate {
    ^bb0(%a: f32, %b: f32):
      logitile.yield
    } update {
    ^bb0(%old: f32, %a: f32, %b: f32):
      %p = arith.mulf %a, %b : f32
      %sum = arith.addf %old, %p : f32
      logitile.yield %sum : f32
    } merge {
    ^bb0(%l: f32, %r: f32, %a: f32, %b: f32):
      %sum = arith.addf %l, %r : f32
      logitile.yield %sum : f32
    }
    logitile.store %state to %s at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// A tile that is stored as it is lies in the memory that it is stored to: scratch holds only the
// copied rows of the head, 16 lines of 32 + 16 elements.

// CHECK: func.func @project({{.*}}) attributes {logitile.scratch_bytes = 3072 : i64}
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<160x32xf32> from @w,
                         %z: !logitile.view<?x160xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 160) step (64, 16) {
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xf32, row_panels>, !logitile.view<160x32xf32> -> !logitile.tile<64x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x16xf32> to !logitile.view<?x160xf32, column_major>
  }
}

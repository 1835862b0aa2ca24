// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// Where logits are kept in 16 bits, the tile lies in scratch (16 lines of 64 + 16 elements more)
// and is rounded afterwards.

// CHECK: func.func @project({{.*}}) attributes {logitile.scratch_bytes = 8192 : i64}
// CHECK: func.call @multiply_rows_8_f32
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<160x32xf32> from @w,
                         %z: !logitile.view<?x160xf16, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 160) step (64, 16) {
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xf32, row_panels>, !logitile.view<160x32xf32> -> !logitile.tile<64x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x16xf32> to !logitile.view<?x160xf16, column_major>
  }
}

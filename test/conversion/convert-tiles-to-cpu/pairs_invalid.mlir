// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 --verify-diagnostics
// What kernels may not ask of dot products of bf16.

logitile.kernel @packed_beside_f32(%n: index from tokens, %x: !logitile.view<?x32xbf16, row_panels> from @x, %w: !logitile.view<64x32xf32> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 64) step (32, 16) {
    // expected-error @+1 {{'hidden' is packed as bf16 but 'weight' is 'f32'; pack 'hidden' as f32}}
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xbf16, row_panels>, !logitile.view<64x32xf32> -> !logitile.tile<32x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
  }
}

// RUN: sed -n '/^\/\/ no tiles/,/^\/\/ f32/p' %s | logitile-opt --convert-tiles-to-cpu=target=cpu:avx512_bf16 --verify-diagnostics
// RUN: sed -n '/^\/\/ f32/,$p' %s | logitile-opt --convert-tiles-to-cpu=target=cpu:amx_bf16 --verify-diagnostics
// Products on tile registers are refused where there are none, and of other operands.

// no tiles
logitile.kernel @without(%n: index from tokens, %x: !logitile.view<?x32xbf16, row_panels> from @x, %w: !logitile.view<64x32xbf16> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 64) step (32, 16) {
    // expected-error @+1 {{is 'using' amx_tiles, which avx512_bf16 does not have; use panels}}
    %tile = logitile.project %x, %w at [%row, %column] by 32 using amx_tiles : !logitile.view<?x32xbf16, row_panels>, !logitile.view<64x32xbf16> -> !logitile.tile<32x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
  }
}
// f32
logitile.kernel @of_f32(%n: index from tokens, %x: !logitile.view<?x32xf32, row_panels> from @x, %w: !logitile.view<64x32xf32> from @w, %z: !logitile.view<?x64xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 64) step (32, 16) {
    // expected-error @+1 {{is 'using' amx_tiles, which multiply bf16, but its operands are 'f32'; use panels}}
    %tile = logitile.project %x, %w at [%row, %column] by 32 using amx_tiles : !logitile.view<?x32xf32, row_panels>, !logitile.view<64x32xf32> -> !logitile.tile<32x16xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<32x16xf32> to !logitile.view<?x64xf32, column_major>
  }
}

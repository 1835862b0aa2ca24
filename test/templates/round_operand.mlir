// RUN: %specialise %s | FileCheck %s

// Memory of the caller on the left, a copy of it in the type of contractions on the right.
// CHECK-LABEL: logitile.kernel @round(%z_weight: !logitile.view<300x24xf32 to bf16> from @z_weight,
// CHECK-SAME: %rounded_z_weight: !logitile.view<300x24xbf16> from @rounded_z_weight) {
// CHECK: %v = arith.constant 300 : index
// CHECK-NEXT: scf.forall (%row, %column) = (0, 0) to (%v, %d) step (%tn, %td) {
// CHECK-NEXT: %tile = logitile.load %z_weight at [%row, %column] : !logitile.view<300x24xf32 to bf16> -> !logitile.tile<64x8xbf16>
// CHECK-NEXT: logitile.store %tile to %rounded_z_weight at [%row, %column] : !logitile.tile<64x8xbf16> to !logitile.view<300x24xbf16>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32 to bf16>
    logitile.buffer @rounded_z_weight call rounded_weight of "z" : !logitile.view<300x24xbf16>
    logitile.run prologue {
      logitile.launch "round" from @round<TN = 64, TD = 8, D = 24, in = !logitile.rounded<f32 to bf16>, tile = bf16, out = bf16> views {source = @z_weight, out = @rounded_z_weight}
    }
  }
}

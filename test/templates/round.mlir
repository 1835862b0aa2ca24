// RUN: %specialise %s | FileCheck %s

// The vocabulary is that of the program; no token, so no map.
// CHECK-LABEL: logitile.kernel @round(%sum_z_weight: !logitile.view<300x24xf32> from @sum_z_weight,
// CHECK-SAME: %gradient_z_weight: !logitile.view<300x24xbf16> from @gradient_z_weight) {
// CHECK: %v = arith.constant 300 : index
// CHECK-NEXT: scf.forall (%row, %column) = (0, 0) to (%v, %d) step (%tn, %td) {
// CHECK-NEXT: %tile = logitile.load %sum_z_weight at [%row, %column] : !logitile.view<300x24xf32> -> !logitile.tile<64x8xf32>
// CHECK-NEXT: logitile.store %tile to %gradient_z_weight at [%row, %column] : !logitile.tile<64x8xf32> to !logitile.view<300x24xbf16>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @sum_z_weight call weight_sum of "z" : !logitile.view<300x24xf32>
    logitile.buffer @gradient_z_weight output weight_gradient of "z" : !logitile.view<300x24xbf16>
    logitile.run forward {
      logitile.launch "round" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = bf16> views {source = @sum_z_weight, out = @gradient_z_weight}
    }
  }
}

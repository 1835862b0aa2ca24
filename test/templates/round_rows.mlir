// RUN: %specialise %s | FileCheck %s

// CHECK-LABEL: logitile.kernel @round(%tokens: index from "tokens", %map: !logitile.view<?xi32> from "map",
// CHECK-SAME: %sum_z_hidden: !logitile.view<?x24xf32> from "sum.z.hidden", %gradient_z_hidden: !logitile.view<?x24xbf16> from "gradient.z.hidden") {
// CHECK: scf.forall (%row, %column) = (0, 0) to (%tokens, %d) step (%tm, %td) {
// CHECK-NEXT: %tile = logitile.load %sum_z_hidden at [%row, %column] : !logitile.view<?x24xf32> -> !logitile.tile<64x8xf32>
// CHECK-NEXT: logitile.store %tile to %gradient_z_hidden at [%row, %column] through %map : !logitile.tile<64x8xf32> to !logitile.view<?x24xbf16>, !logitile.view<?xi32>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) slab 100 kept 0 {
    logitile.buffer "map" call : !logitile.view<?xi32>
    logitile.buffer "sum.z.hidden" chunk : !logitile.view<?x24xf32>
    logitile.buffer "gradient.z.hidden" output : !logitile.view<?x24xbf16>
    logitile.run forward {
      logitile.launch "round" from @round_rows<TM = 64, TD = 8, D = 24, acc = f32, out = bf16> views {sum = "sum.z.hidden", out = "gradient.z.hidden"}
    }
  }
}

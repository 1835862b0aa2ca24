// RUN: %specialise %s | FileCheck %s

// Rows are gathered through the map, converted, and laid out as the packed buffer says.
// CHECK-LABEL: logitile.kernel @pack_z(%tokens: index from tokens, %tokens_map: !logitile.view<?xi32> from @tokens_map,
// CHECK-SAME: %z_hidden: !logitile.view<?x24xbf16> from @z_hidden, %packed_z_rows: !logitile.view<?x24xf32, row_panels> from @packed_z_rows) {
// CHECK-NEXT: %zero = arith.constant 0 : index
// CHECK-NEXT: %tm = arith.constant 32 : index
// CHECK-NEXT: scf.forall (%row) = (0) to (%tokens) step (%tm) {
// CHECK-NEXT: %tile = logitile.load %z_hidden at [%row, %zero] through %tokens_map : !logitile.view<?x24xbf16>, !logitile.view<?xi32> -> !logitile.tile<32x24xf32>
// CHECK-NEXT: logitile.store %tile to %packed_z_rows at [%row, %zero] : !logitile.tile<32x24xf32> to !logitile.view<?x24xf32, row_panels>

// Rows that are rounded on the way are read through a view that says so.
// CHECK-LABEL: logitile.kernel @pack_y(
// CHECK-SAME: %y_hidden: !logitile.view<?x24xf32 to bf16> from @y_hidden, %packed_y_rows: !logitile.view<?x24xbf16, row_panels>
// CHECK: logitile.load %y_hidden {{.*}} : !logitile.view<?x24xf32 to bf16>, !logitile.view<?xi32> -> !logitile.tile<32x24xbf16>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x24xf32, row_panels>
    logitile.buffer @y_hidden input hidden of "y" : !logitile.view<?x24xf32 to bf16>
    logitile.buffer @packed_y_rows chunk packed_rows of "y" : !logitile.view<?x24xbf16, row_panels>
    logitile.run forward {
      logitile.launch "pack_z" from @pack<TM = 32, D = 24, in = bf16, op = f32> views {map = @tokens_map, source = @z_hidden, packed = @packed_z_rows}
      logitile.launch "pack_y" from @pack<TM = 32, D = 24, in = !logitile.rounded<f32 to bf16>, op = bf16> views {map = @tokens_map, source = @y_hidden, packed = @packed_y_rows}
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// Rows are gathered through the map, multiplied in f32, and rounded.
// CHECK-LABEL: logitile.kernel @scale_z(
// CHECK: %tile = logitile.load %z_hidden at [%row, %column] through %tokens_map : !logitile.view<?x24xbf16>, !logitile.view<?xi32> -> !logitile.tile<32x8xf32>
// CHECK: %factor = logitile.load %known_factor at [%row] : !logitile.view<?xf32> -> !logitile.tile<32x1xf32>
// CHECK: %product = logitile.map(%tile, %factor)
// CHECK: arith.mulf
// CHECK: logitile.store %product to %scaled_z_hidden at [%row, %column] : !logitile.tile<32x8xf32> to !logitile.view<?x24xbf16>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["factor" : f32] {
    %c = arith.constant 1.0 : f32
    logitile.yield %c : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    logitile.buffer @known_factor chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @scaled_z_hidden chunk scaled_hidden of "z" : !logitile.view<?x24xbf16>
    logitile.run backward {
      logitile.launch "scale_z" from @scale<TM = 32, TD = 8, D = 24, in = bf16, op = bf16>
          views {map = @tokens_map, source = @z_hidden, factor = @known_factor, scaled = @scaled_z_hidden}
    }
  }
}

// RUN: logitile-opt --logitile-specialise --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s

// An op of a kernel says which line of the skeleton it comes from, under which name, and which
// launch asked for it.
// CHECK-LABEL: logitile.kernel @pack_z
// CHECK: logitile.load {{.*}} loc("tile"(callsite("templates/pack.mlir":{{[0-9]+}}:{{[0-9]+}} at "{{.*}}locations.mlir":15:7)))
// CHECK: } loc(callsite("templates/pack.mlir":{{[0-9]+}}:{{[0-9]+}} at "{{.*}}locations.mlir":15:7))
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x24xf32, row_panels>
    logitile.run forward {
      logitile.launch "pack_z" from @pack<TM = 32, D = 24, in = bf16, op = f32> views {map = @tokens_map, source = @z_hidden, packed = @packed_z_rows}
    }
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Blocks with neighbouring numbers run at the same time. Those of four tiles of rows, 16 MiB of
// hidden states, go through the columns together: 16 blocks are a group, the rows of which come
// first. The last group may have fewer rows.

// CHECK-LABEL: llvm.func @logits(
// CHECK: %[[COUNT:.*]] = arith.minsi
// CHECK-NEXT: %[[WORD:.*]] = arith.trunci %[[COUNT]] : i64 to i32
// CHECK-NEXT: %[[N:.*]] = arith.extui %[[WORD]] : i32 to i64
// CHECK: %[[NUMBER:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
// CHECK: %[[BLOCK:.*]] = arith.extui %[[NUMBER]]
// CHECK: %[[ROWS:.*]] = arith.divui %{{.*}}, %c64_i64
// CHECK: %[[GROUP:.*]] = arith.divui %[[BLOCK]], %c16_i64
// CHECK: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c4_i64
// CHECK: %[[REST:.*]] = arith.remui %[[BLOCK]], %c16_i64
// CHECK: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK: %[[MOST:.*]] = arith.minui %[[LEFT]], %c4_i64
// CHECK: %[[HERE:.*]] = arith.select %{{.*}}, %c1_i64, %[[MOST]]
// CHECK: %[[OF_GROUP:.*]] = arith.remui %[[REST]], %[[HERE]]
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[OF_GROUP]]
// CHECK: %[[FIRST_ROW:.*]] = arith.muli %[[ROW]], %c64_i64
// CHECK: %[[COLUMN:.*]] = arith.divui %[[REST]], %[[HERE]]
// CHECK: %[[FIRST_COLUMN:.*]] = arith.muli %[[COLUMN]], %c64_i64
// CHECK: %[[HAS_ROWS:.*]] = arith.cmpi ult, %[[FIRST_ROW]], %[[N]]
// CHECK: %[[HAS_COLUMNS:.*]] = arith.cmpi ult, %[[FIRST_COLUMN]], %c256_i64
// CHECK: %[[IS_THERE:.*]] = arith.andi %[[HAS_ROWS]], %[[HAS_COLUMNS]]
// CHECK: scf.if %[[IS_THERE]]
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 32768, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @logits(%n: index from tokens, %x: !logitile.view<?x32768xbf16> from @x, %w: !logitile.view<256x32768xbf16> from @w, %out: !logitile.view<?x256xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 256) step (64, 64) {
      %z = logitile.project %x, %w at [%row, %column] by 32 using mma_sync : !logitile.view<?x32768xbf16>, !logitile.view<256x32768xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %z to %out at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x256xf32>
    }
  }
}

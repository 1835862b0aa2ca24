// RUN: sed 's/$SCOPE/chunk/' %s | logitile-opt --convert-tiles-to-cuda | FileCheck %s
// RUN: sed 's/$SCOPE packed_rows of/input hidden of/' %s | logitile-opt --convert-tiles-to-cuda | FileCheck %s --check-prefix=CALLER
// Rows of the workspace are aligned: where both operands lie there, no loop takes one block after
// the other, element by element.

// CHECK-LABEL: llvm.func @weight(
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK: "cp.async.cg.shared.global
// CHECK-NOT: llvm.store %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<3>
// CALLER: nvvm.cp.async.bulk.tensor
// CALLER: "cp.async.cg.shared.global
// CALLER: llvm.store %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<3>
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [],
    mode = forward, tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @weight(%n: index from tokens, %g: !logitile.view<?x512xbf16> from @grad, %x: !logitile.view<?x128xbf16> from @rows,
                          %out: !logitile.view<512x128xf32> from @sum) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (512, 128) step (128, 128) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 64 using wgmma
          : !logitile.view<?x512xbf16>, !logitile.view<?x128xbf16> -> !logitile.tile<128x128xf32>
      logitile.store %sum to %out at [%row, %column] : !logitile.tile<128x128xf32> to !logitile.view<512x128xf32>
    }
  }
  logitile.program @p vocab 512 outputs [] indices [] checked [] {
    logitile.schedule tokens [0, 64) vocab_split 64 stored 64 {
      logitile.buffer @grad chunk logit_gradient of "z" : !logitile.view<?x512xbf16>
      logitile.buffer @rows $SCOPE packed_rows of "z" : !logitile.view<?x128xbf16>
      logitile.buffer @sum call weight_sum of "z" : !logitile.view<512x128xf32>
    }
  }
}

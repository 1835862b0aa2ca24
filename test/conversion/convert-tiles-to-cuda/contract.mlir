// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Operands whose shared axis is not their inner one are read transposed: no copy of them is laid
// out differently.

// CHECK-LABEL: llvm.func @hidden(
// CHECK: nvvm.ldmatrix %{{.*}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.ldmatrix %{{.*}}layout = #nvvm.mma_layout<col>
// CHECK-LABEL: llvm.func @weight(
// CHECK-NOT: layout = #nvvm.mma_layout<row>,{{.*}}num
// CHECK: nvvm.ldmatrix %{{.*}}layout = #nvvm.mma_layout<col>
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @hidden(%n: index from tokens, %g: !logitile.view<?x128xbf16> from @g, %w: !logitile.view<128x64xbf16> from @w,
                          %out: !logitile.view<?x64xf32> from @out) {
    %zero = arith.constant 0 : index
    %v = arith.constant 128 : index
    scf.forall (%row, %column) = (0, 0) to (%n, 64) step (64, 64) {
      %sum = logitile.contract %g, %w at [%row, %column] over [%zero to %v] by 32 using mma_sync
          : !logitile.view<?x128xbf16>, !logitile.view<128x64xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %sum to %out at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
  logitile.kernel @weight(%n: index from tokens, %g: !logitile.view<?x128xbf16> from @g, %x: !logitile.view<?x64xbf16> from @x,
                          %out: !logitile.view<128x64xf32> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (128, 64) step (64, 64) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 32 using mma_sync
          : !logitile.view<?x128xbf16>, !logitile.view<?x64xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %sum to %out at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<128x64xf32>
    }
  }
}

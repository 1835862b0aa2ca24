// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// A kernel that runs the code of another one becomes nothing.

// CHECK: llvm.func @a(
// CHECK-NOT: @b
module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @a(%n: index from tokens, %x: !logitile.view<?x64xf32> from @x) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %x at [%row, %zero] : !logitile.view<?x64xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %x at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
  logitile.kernel @b(%n: index from tokens, %x: !logitile.view<?x64xf32> from @y) attributes {code = @a} {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %x at [%row, %zero] : !logitile.view<?x64xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %x at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

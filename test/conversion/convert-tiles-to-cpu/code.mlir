// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx2 | FileCheck %s
// A kernel that runs the code of another one becomes nothing.

// CHECK: func.func @a(
// CHECK-NOT: @b
logitile.kernel @a(%n: index from tokens, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @b(%n: index from tokens, %x: !logitile.view<?xf32> from @y) attributes {code = @a} {
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

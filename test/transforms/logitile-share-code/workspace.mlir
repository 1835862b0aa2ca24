// RUN: logitile-opt %s --logitile-share-code | FileCheck %s

// Rows of the workspace have places that code may count on, rows of the caller do not.
// CHECK: logitile.kernel @ours(
// CHECK-NOT: code
// CHECK: logitile.kernel @given(
// CHECK-NOT: code
// CHECK: logitile.kernel @ours_too({{.*}}) attributes {code = @ours} {
logitile.kernel @ours(%count: index from tokens, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @given(%count: index from tokens, %y: !logitile.view<?xf32> from @y) {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %y at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %y at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @ours_too(%count: index from tokens, %z: !logitile.view<?xf32> from @z) {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %z at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %z at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 32 stored 32 {
    logitile.buffer @x chunk hidden_sum of "x" : !logitile.view<?xf32>
    logitile.buffer @y output hidden_gradient of "x" : !logitile.view<?xf32>
    logitile.buffer @z call hidden_sum of "y" : !logitile.view<?xf32>
  }
}

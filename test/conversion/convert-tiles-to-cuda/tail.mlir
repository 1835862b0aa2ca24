// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Only the tile at the end of the vocabulary compares columns with it: all others take the branch
// without.

// CHECK-LABEL: llvm.func @store(
// CHECK: %[[LAST:.*]] = arith.cmpi ult, %c101{{.*}}, %{{.*}} : i64
// CHECK: scf.if %[[LAST]] {
// CHECK:   arith.cmpi ult, %{{.*}}, %c101{{.*}} : i64
// CHECK: } else {
// CHECK-NOT: %c101
// CHECK: llvm.return
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @store(%n: index from tokens, %x: !logitile.view<64x101xf32> from @x, %y: !logitile.view<64x101xf32> from @y,
                         %z: !logitile.view<64x101xf32> from @z) {
    %zero = arith.constant 0 : index
    scf.forall (%column) = (0) to (101) step (64) {
      %tile = logitile.load %x at [%zero, %column] : !logitile.view<64x101xf32> -> !logitile.tile<64x64xf32>
      %next = logitile.map(%tile) : (!logitile.tile<64x64xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%value: f32):
        %sum = arith.addf %value, %value : f32
        logitile.yield %sum : f32
      }
      logitile.store %next to %z at [%zero, %column] : !logitile.tile<64x64xf32> to !logitile.view<64x101xf32>
    }
  }
}

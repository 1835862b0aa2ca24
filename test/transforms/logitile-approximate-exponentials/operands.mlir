// Where operands and Dense inputs have 16 bits and there is an instruction for 2^x, exponentials
// may be approximate: in all kernels, or in none.
// RUN: sed 's/$ELEMENT/bf16/; s/$DENSE/d = bf16, m = i1/; s/$TARGET/cuda:sm_80/' %s | logitile-opt --logitile-approximate-exponentials | FileCheck %s
// RUN: sed 's/$ELEMENT/f16/; s/$DENSE//; s/$TARGET/emu:sm_90a/' %s | logitile-opt --logitile-approximate-exponentials | FileCheck %s
// RUN: sed 's/$ELEMENT/f32/; s/$DENSE/d = bf16, m = i1/; s/$TARGET/cuda:sm_80/' %s | logitile-opt --logitile-approximate-exponentials | FileCheck %s --check-prefix=EXACT
// RUN: sed 's/$ELEMENT/bf16/; s/$DENSE//; s/$TARGET/cpu:avx2/' %s | logitile-opt --logitile-approximate-exponentials | FileCheck %s --check-prefix=EXACT
// RUN: sed 's/$ELEMENT/bf16/; s/$DENSE/d = f32/; s/$TARGET/cuda:sm_80/' %s | logitile-opt --logitile-approximate-exponentials | FileCheck %s --check-prefix=EXACT

// CHECK-COUNT-2: math.exp %{{.*}} fastmath<afn> : f32
// EXACT-COUNT-2: math.exp %{{[a-z0-9_]+}} : f32
// EXACT-NOT: afn
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = $ELEMENT>,
    #logitile.projection<"t", hidden = 8, element = bf16>], dense = {$DENSE}, gradients = [], mode = forward, tokens = 8,
    workspace = 1000000, chunks = 0, accumulate = false, target = "$TARGET", threads = 1>} {
  logitile.kernel @powers(%count: index from tokens, %sums: !logitile.view<?xf32> from @sums, %results: !logitile.view<?xf32> from @results) {
    scf.forall (%row) = (0) to (%count) step (64) {
      %sum = logitile.load %sums at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      %power = logitile.map(%sum) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
      ^bb0(%x: f32):
        %once = math.exp %x : f32
        %twice = math.exp %once : f32
        logitile.yield %twice : f32
      }
      logitile.store %power to %results at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
    }
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// The candidate of each entry is computed for the running maximum. If that takes an elementary
// function, the update loads the stored candidate instead of computing the function once more.
// A thread has eight columns of a row, and two rows in a turn. The larger of two candidates is one
// instruction.

// CHECK-LABEL: llvm.func @capped(
// CHECK: math.tanh
// CHECK: arith.maxnumf
// CHECK-COUNT-7: math.tanh
// CHECK-NOT: math.tanh
// CHECK: arith.maxnumf
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.maxnumf
// CHECK-COUNT-8: math.exp
// CHECK-COUNT-8: math.tanh
// CHECK-NOT: math.tanh
// CHECK-COUNT-8: math.exp
// CHECK-NOT: math.tanh
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @capped(%n: index from tokens, %z: !logitile.view<?x128xf32> from @z,
                          %max: !logitile.view<1x?xf32> from @max, %sum: !logitile.view<1x?xf32> from @sum) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
        %least = arith.constant -1.0 : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none : f32, f32
      }
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x128xf32> -> !logitile.tile<64x64xf32>
      %next:2 = logitile.update_state(%start#0, %start#1) with(%tile) at %zero below 128
          : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>) init {
        %least = arith.constant -1.0 : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none : f32, f32
      } candidate {
      ^bb0(%x: f32):
        %c = math.tanh %x : f32
        logitile.yield %c : f32
      } update {
      ^bb0(%m: f32, %s: f32, %x: f32):
        %c = math.tanh %x : f32
        %d = arith.subf %c, %m : f32
        %e = math.exp %d : f32
        %t = arith.addf %s, %e : f32
        logitile.yield %m, %t : f32, f32
      } merge {
      ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %x: f32):
        %t = arith.addf %sa, %sb : f32
        logitile.yield %ma, %t : f32, f32
      }
      logitile.store %next#0 to %max at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %next#1 to %sum at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    }
  }
}

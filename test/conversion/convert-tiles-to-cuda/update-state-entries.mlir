// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Entries of an update are made in its loop over rows. A thread has eight columns of each row, and
// a turn has two rows. So a row takes eight exponentials, and one for its factor. The loop returns
// the entries of all four rows, which are then stored.

// CHECK-LABEL: llvm.func @capped(
// CHECK: %[[ENTRIES:.*]]:32 = scf.for
// CHECK: math.tanh
// CHECK: nvvm.shfl.sync bfly
// CHECK-COUNT-9: math.exp2
// CHECK-NOT: math.exp2
// CHECK: nvvm.shfl.sync bfly
// CHECK: nvvm.shfl.sync bfly
// CHECK-COUNT-9: math.exp2
// CHECK-NOT: math.exp2
// CHECK: nvvm.barrier
// CHECK: scf.for {{.*}} iter_args(%[[ENTRY:.*]] = %[[ENTRIES]]#0,
// CHECK: arith.truncf %[[ENTRY]] : f32 to bf16
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @capped(%n: index from tokens, %z: !logitile.view<?x128xf32> from @z, %known: !logitile.view<?xf32> from @known,
                          %max: !logitile.view<1x?xf32> from @max, %sum: !logitile.view<1x?xf32> from @sum,
                          %out: !logitile.view<?x128xbf16> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
        %least = arith.constant -1.0 : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none : f32, f32
      }
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x128xf32> -> !logitile.tile<64x64xf32>
      %reference = logitile.load %known at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      %next:2, %g = logitile.update_state(%start#0, %start#1) with(%tile, %reference) at %zero below 128
          : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>, !logitile.tile<64x1xf32>) entries (!logitile.tile<64x64xf32>) init {
        %least = arith.constant -1.0 : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none : f32, f32
      } candidate {
      ^bb0(%x: f32, %r: f32):
        %c = math.tanh %x : f32
        logitile.yield %c : f32
      } update {
      ^bb0(%m: f32, %s: f32, %x: f32, %r: f32):
        %c = math.tanh %x : f32
        %d = arith.subf %c, %m : f32
        %log2e = arith.constant 1.44269502 : f32
        %f = arith.mulf %d, %log2e : f32
        %e = math.exp2 %f fastmath<afn> : f32
        %t = arith.addf %s, %e : f32
        %o = arith.subf %m, %r : f32
        %h = arith.mulf %o, %log2e : f32
        %q = math.exp2 %h fastmath<afn> : f32
        %g_in = arith.mulf %e, %q : f32
        logitile.yield %m, %t, %g_in : f32, f32, f32
      } merge {
      ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %x: f32, %r: f32):
        %t = arith.addf %sa, %sb : f32
        logitile.yield %ma, %t : f32, f32
      }
      logitile.store %next#0 to %max at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %next#1 to %sum at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %g to %out at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x128xbf16>
    }
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// A thread has two rows of a tile that warpgroups multiply. What the loop over tiles needs of them,
// here their targets, is the same in all its turns. So it is read once, before the loop, also for
// the entries that are cleared.

// CHECK-LABEL: llvm.func @sweep(
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: llvm.return
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 512, element = bf16>], dense = {},
    gradients = [], mode = forward, tokens = 256, workspace = 1, chunks = 0, accumulate = false,
    target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @sweep(%count: index from tokens, %x: !logitile.view<?x512xbf16> from @packed_z_rows,
                         %w: !logitile.view<4096x512xbf16> from @z_weight, %target: !logitile.view<?xi32> from @target, %maxima: !logitile.view<?xf32> from @known_max,
                         %grads: !logitile.view<?x4096xbf16> from @grad_z) {
    %zero = arith.constant 0 : index
    %end = arith.constant 4096 : index
    %step = arith.constant 64 : index
    scf.forall (%row) = (0) to (%count) step (128) {
      %start = logitile.init_state : !logitile.tile<128x1xf32> {
        %lowest = arith.constant 0xFF7FFFFF : f32
        logitile.yield %lowest : f32
      }
      %max = scf.for %column = %zero to %end step %step iter_args(%running = %start) -> (!logitile.tile<128x1xf32>) {
        %z = logitile.project %x, %w at [%row, %column] by 64 using wgmma
            : !logitile.view<?x512xbf16>, !logitile.view<4096x512xbf16> -> !logitile.tile<128x64xf32>
        %named = logitile.load %target at [%row] : !logitile.view<?xi32> -> !logitile.tile<128x1xi32>
        %next = logitile.update_state(%running) with(%z, %named) at %column below 4096
            : (!logitile.tile<128x1xf32>), (!logitile.tile<128x64xf32>, !logitile.tile<128x1xi32>) init {
          %lowest = arith.constant 0xFF7FFFFF : f32
          logitile.yield %lowest : f32
        } candidate {
        ^bb0(%value: f32, %index: i32):
          logitile.yield %value : f32
        } update {
        ^bb0(%highest: f32, %value: f32, %index: i32):
          logitile.yield %highest : f32
        } merge {
        ^bb0(%a: f32, %b: f32, %value: f32, %index: i32):
          %larger = arith.maximumf %a, %b : f32
          logitile.yield %larger : f32
        }
        %g = logitile.map(%z, %named) : (!logitile.tile<128x64xf32>, !logitile.tile<128x1xi32>) -> !logitile.tile<128x64xf32> {
        ^bb0(%value: f32, %index: i32):
          %number = arith.sitofp %index : i32 to f32
          %product = arith.mulf %value, %number : f32
          logitile.yield %product : f32
        }
        %rest = logitile.sparse_terms clear %g, [%target] at [%row, %column] below %count : !logitile.tile<128x64xf32>, [!logitile.view<?xi32>]
        logitile.store %rest to %grads at [%row, %column] : !logitile.tile<128x64xf32> to !logitile.view<?x4096xbf16>
        scf.yield %next : !logitile.tile<128x1xf32>
      }
      logitile.store %max to %maxima at [%row] : !logitile.tile<128x1xf32> to !logitile.view<?xf32>
    }
  }
}

// Columns c, c + 8, c + 16 and c + 24 of a row have the words of one block of random numbers. A
// thread has 16 of the 64 columns of a tile, so four blocks of each of the two rows of a turn: 8
// times ten rounds of two products, for 32 numbers. It takes tiles that begin at multiples of 32.
// RUN: sed 's/$COLUMN/%own/' %s | logitile-opt --convert-tiles-to-cuda --logitile-expand-math | FileCheck %s
// CHECK-LABEL: llvm.func @draw(
// CHECK-COUNT-20: arith.mului_extended
// CHECK: arith.uitofp
// CHECK-COUNT-140: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: llvm.return

// A slice of the vocabulary may begin anywhere: each column has ten rounds of its own.
// RUN: sed 's/$COLUMN/%moved/' %s | logitile-opt --convert-tiles-to-cuda --logitile-expand-math | FileCheck %s --check-prefix=SLICE
// SLICE-LABEL: llvm.func @draw(
// SLICE-COUNT-640: arith.mului_extended
// SLICE-NOT: arith.mului_extended
// SLICE: llvm.return
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @draw(%n: index from tokens, %h: !logitile.view<?x64xbf16> from @h, %w: !logitile.view<1024x64xbf16> from @w,
                        %offset: !logitile.view<1xi32> from @offset, %token: !logitile.view<?xi32> from @token, %sum: !logitile.view<4x?xf32> from @sum) {
    %zero = arith.constant 0 : index
    %tile = arith.constant 64 : index
    %part = arith.constant 256 : index
    scf.forall (%row, %split) = (0, 0) to (%n, 4) step (64, 1) {
      %start = logitile.init_state : !logitile.tile<64x1xf32> {
        %none = arith.constant 0.0 : f32
        logitile.yield %none : f32
      }
      %first = arith.muli %split, %part : index
      %end = arith.addi %first, %part : index
      %next = scf.for %column = %first to %end step %tile iter_args(%running = %start) -> (!logitile.tile<64x1xf32>) {
        %z = logitile.project %h, %w at [%row, %column] by 64 using wgmma
            : !logitile.view<?x64xbf16>, !logitile.view<1024x64xbf16> -> !logitile.tile<64x64xf32>
        %o = logitile.load %offset at [%zero] : !logitile.view<1xi32> -> !logitile.tile<1x1xi32>
        %t = logitile.load %token at [%row] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
        %added = logitile.update_state(%running) with(%z, %o, %t) at %column below 1024
            : (!logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>, !logitile.tile<1x1xi32>, !logitile.tile<64x1xi32>) init {
          %none = arith.constant 0.0 : f32
          logitile.yield %none : f32
        } candidate {
        ^bb0(%x: f32, %begin: i32, %index: i32):
          logitile.yield
        } update {
        ^bb0(%s: f32, %x: f32, %begin: i32, %index: i32):
          %seed = arith.constant 7 : i32
          %own = logitile.column : i32
          %moved = arith.addi %own, %begin : i32
          %u = logitile.uniform %seed, %seed, %index, $COLUMN : f32
          %p = arith.mulf %x, %u : f32
          %added = arith.addf %s, %p : f32
          logitile.yield %added : f32
        } merge {
        ^bb0(%a: f32, %b: f32, %x: f32, %begin: i32, %index: i32):
          %both = arith.addf %a, %b : f32
          logitile.yield %both : f32
        }
        scf.yield %added : !logitile.tile<64x1xf32>
      }
      logitile.store %next to %sum at [%split, %row] : !logitile.tile<64x1xf32> to !logitile.view<4x?xf32>
    }
  }
}

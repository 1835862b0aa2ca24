// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// A row update with much code of functions has one form for all tiles, which compares columns with
// the end of the vocabulary. A shorter one has another form for the tiles that end
// before. A thread has eight columns of a row, and two rows in a turn.

// CHECK-LABEL: llvm.func @drawn(
// CHECK-COUNT-16: math.log
// CHECK-NOT: math.log
// CHECK-LABEL: llvm.func @plain(
// CHECK: scf.if
// CHECK-COUNT-16: math.log
// CHECK: } else {
// CHECK-COUNT-16: math.log
// CHECK-NOT: math.log
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @drawn(%n: index from tokens, %z: !logitile.view<?x100xf32> from @z, %sum: !logitile.view<1x?xf32> from @sum) {
    %zero = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 100 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start = logitile.init_state : !logitile.tile<64x1xf32> {
        %none = arith.constant 0.0 : f32
        logitile.yield %none : f32
      }
      %next = scf.for %column = %zero to %end step %step iter_args(%running = %start) -> (!logitile.tile<64x1xf32>) {
        %tile = logitile.load %z at [%row, %column] : !logitile.view<?x100xf32> -> !logitile.tile<64x64xf32>
        %added = logitile.update_state(%running) with(%tile) at %column below 100 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>) init {
          %none = arith.constant 0.0 : f32
          logitile.yield %none : f32
        } candidate {
        ^bb0(%x: f32):
          logitile.yield
        } update {
        ^bb0(%s: f32, %x: f32):
          %c = logitile.column : i32
          %u = logitile.uniform %c, %c, %c, %c : f32
          %l = math.log %u : f32
          %w = arith.mulf %x, %l : f32
          %t = arith.addf %s, %w : f32
          logitile.yield %t : f32
        } merge {
        ^bb0(%sa: f32, %sb: f32, %x: f32):
          %t = arith.addf %sa, %sb : f32
          logitile.yield %t : f32
        }
        scf.yield %added : !logitile.tile<64x1xf32>
      }
      logitile.store %next to %sum at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    }
  }
  logitile.kernel @plain(%n: index from tokens, %z: !logitile.view<?x100xf32> from @z, %sum: !logitile.view<1x?xf32> from @sum) {
    %zero = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 100 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start = logitile.init_state : !logitile.tile<64x1xf32> {
        %none = arith.constant 0.0 : f32
        logitile.yield %none : f32
      }
      %next = scf.for %column = %zero to %end step %step iter_args(%running = %start) -> (!logitile.tile<64x1xf32>) {
        %tile = logitile.load %z at [%row, %column] : !logitile.view<?x100xf32> -> !logitile.tile<64x64xf32>
        %added = logitile.update_state(%running) with(%tile) at %column below 100 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>) init {
          %none = arith.constant 0.0 : f32
          logitile.yield %none : f32
        } candidate {
        ^bb0(%x: f32):
          logitile.yield
        } update {
        ^bb0(%s: f32, %x: f32):
          %l = math.log %x : f32
          %t = arith.addf %s, %l : f32
          logitile.yield %t : f32
        } merge {
        ^bb0(%sa: f32, %sb: f32, %x: f32):
          %t = arith.addf %sa, %sb : f32
          logitile.yield %t : f32
        }
        scf.yield %added : !logitile.tile<64x1xf32>
      }
      logitile.store %next to %sum at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    }
  }
}

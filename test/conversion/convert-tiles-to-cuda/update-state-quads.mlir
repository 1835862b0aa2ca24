// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// When the four threads of a row join what they have, their maxima are the same already: no
// exponential relates one to the other. The state of the tiles before, and the two warps of a row,
// have other maxima. A thread has eight columns of each row, and two rows in a turn.

// CHECK-LABEL: llvm.func @sums(
// CHECK: arith.maxnumf
// CHECK-COUNT-8: math.exp
// CHECK-NOT: math.exp
// CHECK: nvvm.shfl.sync bfly
// CHECK-NOT: math.exp
// CHECK: arith.maxnumf
// CHECK-COUNT-8: math.exp
// CHECK-NOT: math.exp
// CHECK: nvvm.barrier0
// CHECK: arith.cmpf ogt
// CHECK-COUNT-4: math.exp
// CHECK-NOT: math.exp
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @sums(%n: index from tokens, %z: !logitile.view<?x128xf32> from @z, %out: !logitile.view<1x?xf32> from @out,
                        %out_high: !logitile.view<1x?xf32> from @out_high, %out_low: !logitile.view<1x?xf32> from @out_low) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start:3 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
        %least = arith.constant 0xFF7FFFFF : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none, %none : f32, f32, f32
      }
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x128xf32> -> !logitile.tile<64x64xf32>
      %next:3 = logitile.update_state(%start#0, %start#1, %start#2) with(%tile) at %zero below 128
          : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>) init {
        %least = arith.constant 0xFF7FFFFF : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none, %none : f32, f32, f32
      } candidate {
      ^bb0(%x: f32):
        logitile.yield %x : f32
      } update {
      ^bb0(%m: f32, %high: f32, %low: f32, %x: f32):
        %d = arith.subf %x, %m : f32
        %e = math.exp %d : f32
        %total = arith.addf %high, %e : f32
        %added = arith.subf %total, %high : f32
        %lost = arith.subf %e, %added : f32
        %lows = arith.addf %low, %lost : f32
        logitile.yield %m, %total, %lows : f32, f32, f32
      } merge {
      ^bb0(%ma: f32, %ha: f32, %la: f32, %mb: f32, %hb: f32, %lb: f32, %x: f32):
        %isLarger = arith.cmpf ogt, %mb, %ma : f32
        %m = arith.select %isLarger, %mb, %ma : f32
        %da = arith.subf %ma, %m : f32
        %ea = math.exp %da : f32
        %db = arith.subf %mb, %m : f32
        %eb = math.exp %db : f32
        %h0 = logitile.multiply_no_nan %ea, %ha : f32
        %h1 = logitile.multiply_no_nan %eb, %hb : f32
        %l0 = logitile.multiply_no_nan %ea, %la : f32
        %l1 = logitile.multiply_no_nan %eb, %lb : f32
        %high = arith.addf %h0, %h1 : f32
        %low = arith.addf %l0, %l1 : f32
        logitile.yield %m, %high, %low : f32, f32, f32
      }
      logitile.store %next#0 to %out at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %next#1 to %out_high at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %next#2 to %out_low at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    }
  }
}

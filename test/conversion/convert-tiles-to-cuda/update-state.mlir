// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// A thread folds its elements of a row, the four of a quad join by the merge region, then thread t
// joins what the warps left of row t. The state between tiles is one value of each thread.

// CHECK-LABEL: llvm.func @sweep(
// CHECK: %[[ROWS:.*]] = scf.for %{{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (f32)
// CHECK:   nvvm.barrier0
// CHECK:   %[[OWN:.*]] = arith.addf
// CHECK:   %[[NEXT:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[SUM:.*]], %c1{{.*}}, %c31{{.*}} : f32 -> f32
// CHECK:   %[[PAIR:.*]] = arith.addf %[[SUM]], %[[NEXT]] : f32
// CHECK:   %[[OTHER:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[PAIR]], %c2{{.*}}, %c31{{.*}} : f32 -> f32
// CHECK:   %[[QUAD:.*]] = arith.addf %[[PAIR]], %[[OTHER]] : f32
// CHECK:   llvm.store %[[QUAD]], %{{.*}} : f32, !llvm.ptr<3>
// CHECK:   nvvm.barrier0
// CHECK:   %[[JOINED:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:     %[[PART:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK:     arith.addf %[[STATE]], %[[PART]] : f32
// CHECK:   scf.yield %[[JOINED]] : f32
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x128xf32> from @z, %out: !logitile.view<1x?xf32> from @p) {
    %zero = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 128 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start = logitile.init_state : !logitile.tile<64x1xf32> {
        %c0 = arith.constant 0.0 : f32
        logitile.yield %c0 : f32
      }
      %state = scf.for %column = %zero to %end step %step iter_args(%rows = %start) -> (!logitile.tile<64x1xf32>) {
        %tile = logitile.load %z at [%row, %column] : !logitile.view<?x128xf32> -> !logitile.tile<64x64xf32>
        %next = logitile.update_state(%rows) with (%tile) at %column below 128 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>) init {
          %c0 = arith.constant 0.0 : f32
          logitile.yield %c0 : f32
        } candidate {
        ^bb0(%z_in: f32):
          logitile.yield
        } update {
        ^bb0(%s: f32, %z_in: f32):
          %sum = arith.addf %s, %z_in : f32
          logitile.yield %sum : f32
        } merge {
        ^bb0(%a: f32, %b: f32, %z_in: f32):
          %sum = arith.addf %a, %b : f32
          logitile.yield %sum : f32
        }
        scf.yield %next : !logitile.tile<64x1xf32>
      }
      logitile.store %state to %out at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    }
  }
}

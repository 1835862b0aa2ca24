// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// The row state of row t is a value of thread t, but elements of the row belong to others. Where a
// map reads a state, it goes through shared memory, in the place where the parts of the state were.

// CHECK-LABEL: llvm.func @distances(
// CHECK: %[[STATE:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK: llvm.store %[[STATE]], %{{.*}} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: scf.for
// CHECK: %[[OF_ROW:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK-NEXT: arith.subf %{{.*}}, %[[OF_ROW]] : f32
module attributes {logitile.request = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @distances(%n: index from tokens, %z: !logitile.view<?x64xf32> from @z, %out: !logitile.view<?x64xf16> from @near) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start = logitile.init_state : !logitile.tile<64x1xf32> {
        %lowest = arith.constant 0xFF7FFFFF : f32
        logitile.yield %lowest : f32
      }
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x64xf32> -> !logitile.tile<64x64xf32>
      %largest = logitile.update_state(%start) with (%tile) at %zero below 64 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>) init {
        %lowest = arith.constant 0xFF7FFFFF : f32
        logitile.yield %lowest : f32
      } candidate {
      ^bb0(%value: f32):
        logitile.yield %value : f32
      } update {
      ^bb0(%m: f32, %value: f32):
        logitile.yield %m : f32
      } merge {
      ^bb0(%a: f32, %b: f32, %value: f32):
        %both = arith.maxnumf %a, %b : f32
        logitile.yield %both : f32
      }
      %near = logitile.map(%tile, %largest) : (!logitile.tile<64x64xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%value: f32, %m: f32):
        %distance = arith.subf %value, %m : f32
        logitile.yield %distance : f32
      }
      logitile.store %near to %out at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf16>
    }
  }
}

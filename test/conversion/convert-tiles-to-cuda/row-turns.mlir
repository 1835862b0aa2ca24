// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// A thread has four rows of the tile. Two of them are a turn of its loop, or one where an element
// takes more than 32 ops: a turn has 8 of its columns.

// CHECK-LABEL: llvm.func @few(
// CHECK: scf.for %{{.*}} = %c0_i64 to %c2_i64 step %c1_i64
// CHECK-COUNT-16: arith.addf
// CHECK-NOT: arith.addf
// CHECK: scf.yield

// CHECK-LABEL: llvm.func @many(
// CHECK: scf.for %{{.*}} = %c0_i64 to %c4_i64 step %c1_i64
// CHECK-COUNT-264: arith.addf
// CHECK-NOT: arith.addf
// CHECK: scf.yield
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @few(%n: index from tokens, %z: !logitile.view<?x64xf32> from @z, %out: !logitile.view<?x64xf32> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x64xf32> -> !logitile.tile<64x64xf32>
      %made = logitile.map (%tile) : (!logitile.tile<64x64xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%z_in: f32):
        %e0 = arith.addf %z_in, %z_in : f32
        logitile.yield %e0 : f32
      }
      logitile.store %made to %out at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
  logitile.kernel @many(%n: index from tokens, %z: !logitile.view<?x64xf32> from @z, %out: !logitile.view<?x64xf32> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x64xf32> -> !logitile.tile<64x64xf32>
      %made = logitile.map (%tile) : (!logitile.tile<64x64xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%z_in: f32):
        %e0 = arith.addf %z_in, %z_in : f32
        %e1 = arith.addf %e0, %z_in : f32
        %e2 = arith.addf %e1, %z_in : f32
        %e3 = arith.addf %e2, %z_in : f32
        %e4 = arith.addf %e3, %z_in : f32
        %e5 = arith.addf %e4, %z_in : f32
        %e6 = arith.addf %e5, %z_in : f32
        %e7 = arith.addf %e6, %z_in : f32
        %e8 = arith.addf %e7, %z_in : f32
        %e9 = arith.addf %e8, %z_in : f32
        %e10 = arith.addf %e9, %z_in : f32
        %e11 = arith.addf %e10, %z_in : f32
        %e12 = arith.addf %e11, %z_in : f32
        %e13 = arith.addf %e12, %z_in : f32
        %e14 = arith.addf %e13, %z_in : f32
        %e15 = arith.addf %e14, %z_in : f32
        %e16 = arith.addf %e15, %z_in : f32
        %e17 = arith.addf %e16, %z_in : f32
        %e18 = arith.addf %e17, %z_in : f32
        %e19 = arith.addf %e18, %z_in : f32
        %e20 = arith.addf %e19, %z_in : f32
        %e21 = arith.addf %e20, %z_in : f32
        %e22 = arith.addf %e21, %z_in : f32
        %e23 = arith.addf %e22, %z_in : f32
        %e24 = arith.addf %e23, %z_in : f32
        %e25 = arith.addf %e24, %z_in : f32
        %e26 = arith.addf %e25, %z_in : f32
        %e27 = arith.addf %e26, %z_in : f32
        %e28 = arith.addf %e27, %z_in : f32
        %e29 = arith.addf %e28, %z_in : f32
        %e30 = arith.addf %e29, %z_in : f32
        %e31 = arith.addf %e30, %z_in : f32
        %e32 = arith.addf %e31, %z_in : f32
        logitile.yield %e32 : f32
      }
      logitile.store %made to %out at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
    }
  }
}

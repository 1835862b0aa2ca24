// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Products of f32 by single warps read planes of bf16 from shared memory, which threads make one
// block ahead of the products. wgmma-planes.mlir has the same for warpgroups.

// Planes of two blocks: 2 x 3 x 2 bytes x (128 + 128) entries x 16 steps.
// CHECK-LABEL: llvm.func @project(
// CHECK-SAME: logitile.shared_bytes = 49152 : i64, logitile.threads = 128 : i64
// CHECK-NOT: nvvm.cp.async
// CHECK-NOT: nvvm.fence.proxy
// CHECK: scf.for
// CHECK-NEXT: arith.xori
// CHECK-NEXT: nvvm.barrier0
// Eight chunks of four numbers are split into three planes each; then those of the block after it
// are asked for.
// CHECK-COUNT-24: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// Blocks of 64 x 64: three planes of each left fragment. Six products start with zeros, and are
// added to the sum once.
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-6: nvvm.mma.sync
// CHECK: arith.addf
// CHECK: scf.yield
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = f32>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x128xf32> from @x, %w: !logitile.view<256x128xf32> from @w,
                           %z: !logitile.view<?x256xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 256) step (128, 128) {
      %tile = logitile.project %x, %w at [%row, %column] by 16 using mma_sync : !logitile.view<?x128xf32>, !logitile.view<256x128xf32> -> !logitile.tile<128x128xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<128x128xf32> to !logitile.view<?x256xf32>
    }
  }

  // Blocks of gradients have 32 rows and all columns. Three planes of two left fragments and of the
  // first right one are read before products, and three of each of the seven other right ones.
  // CHECK-LABEL: llvm.func @weight_gradient(
  // CHECK: scf.for
  // CHECK: nvvm.barrier0
  // CHECK-COUNT-9: nvvm.ldmatrix {{.*}}#nvvm.mma_layout<col>
  // CHECK-NOT: nvvm.ldmatrix
  // CHECK-COUNT-24: nvvm.mma.sync
  // CHECK-COUNT-3: nvvm.ldmatrix
  // CHECK-NOT: nvvm.ldmatrix
  // CHECK: nvvm.mma.sync
  logitile.kernel @weight_gradient(%n: index from tokens, %g: !logitile.view<?x256xf32> from @g, %x: !logitile.view<?x128xf32> from @x,
                                   %dw: !logitile.view<256x128xf32> from @dw) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (256, 128) step (128, 128) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 16 using mma_sync
          : !logitile.view<?x256xf32>, !logitile.view<?x128xf32> -> !logitile.tile<128x128xf32>
      logitile.store %sum to %dw at [%row, %column] : !logitile.tile<128x128xf32> to !logitile.view<256x128xf32>
    }
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Products of f32 by warpgroups. Threads load numbers two blocks ahead of their products, and split
// them into three planes of bf16 in shared memory one block ahead. Tensor cores make six products
// of planes for each 16 steps. The first does not add to anything: the products of a block are
// added up alone, and then to the sums of the blocks before.

// Planes of two blocks: 2 x 3 x 2 bytes x (128 + 64) entries x 32 steps. There are no boxes.
// CHECK-LABEL: llvm.func @project(
// CHECK-NOT: tensor_maps
// CHECK-SAME: logitile.shared_bytes = 73728 : i64, logitile.threads = 256 : i64
// CHECK-NOT: nvvm.cp.async
// CHECK-NOT: nvvm.mma.sync
// Stages begin where everyone is done with their memory.
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier0
// Operands that are aligned.
// CHECK: scf.if %{{.*}} -> (f32
// The first two blocks; the first one is split.
// CHECK-COUNT-6: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-COUNT-18: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
// CHECK-COUNT-6: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: scf.for
// CHECK-NEXT: arith.xori
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: nvvm.wgmma.mma_async %{{.*}}, <m = 64, n = 64, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-COUNT-11: nvvm.wgmma.mma_async %{{.*}}, <m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
// The rest of the turn runs beside the products: the next block is split, the one after it asked
// for.
// CHECK-NOT: nvvm.barrier0
// CHECK-COUNT-6: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK-COUNT-18: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
// CHECK-COUNT-6: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=f,
// CHECK-COUNT-32: arith.addf
// CHECK-NEXT: scf.yield
// Operands that are not: one block after the other, element by element.
// CHECK: } else {
// CHECK: scf.for
// CHECK: nvvm.barrier0
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: nvvm.fence.proxy
// CHECK-NEXT: nvvm.barrier0
// CHECK: D[<f32>, <zero>]
// CHECK-COUNT-11: D[<f32>, <one>]
// CHECK: arith.addf
// CHECK: scf.yield
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = f32>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x128xf32> from @x, %w: !logitile.view<256x128xf32> from @w,
                           %z: !logitile.view<?x256xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 256) step (128, 64) {
      %tile = logitile.project %x, %w at [%row, %column] by 32 using wgmma : !logitile.view<?x128xf32>, !logitile.view<256x128xf32> -> !logitile.tile<128x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<128x64xf32> to !logitile.view<?x256xf32>
    }
  }

  // Rows that end within a chunk of four numbers are read element by element, in memory that may be
  // without padding.
  // CHECK-LABEL: llvm.func @ragged(
  // CHECK-NOT: vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT: !llvm.ptr<1> -> vector<4xf32>
  // CHECK: nvvm.wgmma.mma_async
  // CHECK-NOT: !llvm.ptr<1> -> vector<4xf32>
  logitile.kernel @ragged(%n: index from tokens, %x: !logitile.view<?x126xf32> from @x, %w: !logitile.view<256x126xf32> from @w,
                          %z: !logitile.view<?x256xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 256) step (128, 64) {
      %tile = logitile.project %x, %w at [%row, %column] by 32 using wgmma : !logitile.view<?x126xf32>, !logitile.view<256x126xf32> -> !logitile.tile<128x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<128x64xf32> to !logitile.view<?x256xf32>
    }
  }

  // Neighbours in memory of both operands are entries of their outer axes: lines are steps, of 64
  // entries each.
  // CHECK-LABEL: llvm.func @weight_gradient(
  // CHECK: A[<bf16>, <one>, <col>], B[<bf16>, <one>, <row>]
  logitile.kernel @weight_gradient(%n: index from tokens, %g: !logitile.view<?x256xf32> from @g, %x: !logitile.view<?x128xf32> from @x,
                                   %dw: !logitile.view<256x128xf32> from @dw) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (256, 128) step (64, 128) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 32 using wgmma
          : !logitile.view<?x256xf32>, !logitile.view<?x128xf32> -> !logitile.tile<64x128xf32>
      logitile.store %sum to %dw at [%row, %column] : !logitile.tile<64x128xf32> to !logitile.view<256x128xf32>
    }
  }
}

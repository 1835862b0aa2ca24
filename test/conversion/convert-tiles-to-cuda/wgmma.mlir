// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Products of warpgroups. Boxes are copied three blocks ahead into four stages. Mbarriers tell that
// a block has arrived, and that all warps have read it. Four products of 16 steps are one group.
// Sums are not read before the last group has been waited for. A warp has 16 rows, all columns.

// CHECK: llvm.mlir.global external @shared$memory() {addr_space = 3 : i32, alignment = 1024 : i64}
// After the views, for each operand: the column that its map begins with, and the map by value.
// CHECK-LABEL: llvm.func @project(
// CHECK-SAME: %[[X_FIRST:[a-z0-9]+]]: i64, %[[X_MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 128 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{[a-z0-9]+}}: i64, %[[W_MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 128 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant})
// Mbarriers have the first 1024 bytes. Boxes have 64 columns, and the rows of the tile.
// CHECK-SAME: logitile.shared_bytes = 99328 : i64, logitile.tensor_maps = [array<i64: 1, 64, 128>, array<i64: 2, 64, 64>], logitile.threads = 256 : i64
// Descriptors: lines of 128 bytes, 1024 bytes to the next eight, chunks that are swizzled.
// CHECK-DAG: arith.constant 65536 : i64
// CHECK-DAG: arith.constant 4611686293305294848 : i64
// CHECK-NOT: nvvm.ldmatrix
// CHECK-NOT: nvvm.mma.sync
// The warp's number, and so its warpgroup, is the same for all of its lanes.
// CHECK: nvvm.shfl.sync idx
// One thread announces a block, and all eight warps say when they have read it.
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: nvvm.fence.mbarrier.init
// A tile of tokens has boxes where there is a map, and where it is not cut or all tokens count.
// CHECK: %[[HAS_MAP:.*]] = arith.cmpi ult, %[[X_FIRST]], %{{.*}} : i64
// CHECK: %[[IS_CUT:.*]] = arith.cmpi ult, %{{.*}} : i64
// CHECK: %[[IS_WHOLE:.*]] = arith.xori %[[IS_CUT]], %true : i1
// CHECK: %[[OF_TOKENS:.*]] = arith.ori %{{.*}}, %[[IS_WHOLE]] : i1
// CHECK: arith.andi %[[HAS_MAP]], %[[OF_TOKENS]] : i1
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier0
// CHECK: scf.if %{{.*}} -> (!llvm.struct<(f32
// CHECK: scf.for
// CHECK:   nvvm.cp.async.bulk.tensor
// CHECK:   nvvm.cp.async.bulk.tensor
// CHECK: scf.for %{{.*}} iter_args({{.*}}) -> (i32, i32, !llvm.struct<({{.*}})>) : i32 {
// CHECK-NOT: nvvm.barrier0
// CHECK:   scf.while : () -> () {
// CHECK-NEXT: nvvm.mbarrier.try_wait
// CHECK:   nvvm.wgmma.fence.aligned
// CHECK-NOT: llvm.extractvalue
// CHECK-COUNT-4: nvvm.wgmma.mma_async %{{.*}}, <m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK:   nvvm.elect.sync
// CHECK:   scf.if
// CHECK:     nvvm.mbarrier.arrive %
// CHECK:   scf.if
// CHECK:     arith.addi %{{.*}}, %c3_i32 : i32
// CHECK:     nvvm.mbarrier.try_wait
// CHECK:     nvvm.elect.sync
// CHECK-NEXT: scf.if
// CHECK:       nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c24576_i32
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[X_MAP]], %{{.*}}, box
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[W_MAP]], %{{.*}}, box
// CHECK:   scf.yield
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=f,
// CHECK: } else {
// Without maps threads copy, two blocks ahead: a fence before tensor cores read, and a barrier.
// CHECK: scf.if %{{.*}} -> (!llvm.struct<(f32
// CHECK: scf.for
// CHECK:   nvvm.cp.async.commit.group
// CHECK: scf.for %{{.*}} iter_args(
// CHECK:   nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier0
// CHECK:   nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async
// CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
// CHECK:   nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK:   scf.yield
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// Operands that are not aligned: one block after the other.
// CHECK: scf.for %{{.*}} iter_args(
// CHECK:   nvvm.barrier0
// CHECK:   nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-4: nvvm.wgmma.mma_async
// CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: nvvm.wgmma.mma_async
// CHECK: llvm.store
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<128x128xbf16> from @w,
                           %z: !logitile.view<?x128xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 128) step (128, 64) {
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma : !logitile.view<?x128xbf16>, !logitile.view<128x128xbf16> -> !logitile.tile<128x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<128x64xf32> to !logitile.view<?x128xf32>
    }
  }

  // Neighbours in memory of both operands are entries of their outer axes: lines are steps, of 64
  // entries each, and what lies further is the next panel. Steps of 16 lines are 2048 bytes apart.
  // CHECK-LABEL: llvm.func @weight_gradient(
  // CHECK-SAME: logitile.tensor_maps = [array<i64: 1, 64, 64>, array<i64: 2, 64, 64>], logitile.threads = 256 : i64
  // CHECK-DAG: arith.constant 33554432 : i64
  // CHECK-DAG: arith.constant 4611686293305294848 : i64
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 128 : i32
  // CHECK: nvvm.wgmma.mma_async %{{.*}}, <m = 64, n = 128, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <col>], B[<f16>, <one>, <row>]
  // CHECK: arith.addi %{{.*}}, %[[STEP]] : i32
  // A box for each panel.
  // CHECK-COUNT-4: nvvm.cp.async.bulk.tensor
  // CHECK-NOT: nvvm.cp.async.bulk.tensor
  // A map is for all tokens: threads copy the block in which those that count end.
  // CHECK: "wgmma.wait_group.sync.aligned 0;"
  // CHECK: scf.if %{{.*}} -> (!llvm.struct<(f32
  // CHECK: nvvm.barrier0
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK-NEXT: nvvm.fence.proxy
  // CHECK-NEXT: nvvm.barrier0
  // CHECK: nvvm.wgmma.mma_async
  // CHECK: "wgmma.wait_group.sync.aligned 0;"
  logitile.kernel @weight_gradient(%n: index from tokens, %g: !logitile.view<?x128xf16> from @g, %x: !logitile.view<?x128xf16> from @x,
                                   %dw: !logitile.view<128x128xf32> from @dw) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (128, 128) step (128, 128) {
      %tile = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 64 using wgmma : !logitile.view<?x128xf16>, !logitile.view<?x128xf16> -> !logitile.tile<128x128xf32>
      logitile.store %tile to %dw at [%row, %column] : !logitile.tile<128x128xf32> to !logitile.view<128x128xf32>
    }
  }

  // The former sums are read after the last wait: the assembler needs sums that start in registers.
  // CHECK-LABEL: llvm.func @added(
  // CHECK-NOT: -> f32
  // CHECK: nvvm.wgmma.mma_async
  // CHECK-NOT: arith.addf
  // CHECK: scf.if %{{.*}} -> (f32,
  // CHECK: llvm.load {{.*}} -> f32
  // CHECK-NEXT: arith.addf
  // CHECK: } else {
  // CHECK-NEXT: scf.yield
  // Rows past the end read the last one, whose thread stores after all have read.
  // CHECK: nvvm.barrier0
  // CHECK: llvm.store
  logitile.kernel @added(%n: index from tokens, %accumulate: i1 from accumulate_vocab_splits, %g: !logitile.view<?x128xbf16> from @g, %w: !logitile.view<128x128xbf16> from @w,
                         %dx: !logitile.view<?x128xf32> from @dx) {
    %zero = arith.constant 0 : index
    %end = arith.constant 128 : index
    scf.forall (%row, %column) = (0, 0) to (%n, 128) step (64, 128) {
      %tile = logitile.contract %g, %w at [%row, %column] over [%zero to %end] by 64 using wgmma plus %dx when %accumulate
          : !logitile.view<?x128xbf16>, !logitile.view<128x128xbf16> plus !logitile.view<?x128xf32> -> !logitile.tile<64x128xf32>
      logitile.store %tile to %dx at [%row, %column] : !logitile.tile<64x128xf32> to !logitile.view<?x128xf32>
    }
  }
}

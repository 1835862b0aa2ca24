// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Two blocks of a cluster make neighbouring steps of the first axis. Each copies its left operand,
// and half of the right one to both.

// Of the right operand, boxes have half of the lines: 32 of 64 entries. Mbarriers of what was read
// count the warps of both blocks.
// CHECK-LABEL: llvm.func @project(
// CHECK-SAME: logitile.tensor_maps = [array<i64: 1, 64, 128>, array<i64: 2, 64, 32>], logitile.threads = 256 : i64
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c16_i32
// Blocks 2 p and 2 p + 1 are pair p, whose first tile is there. They share where the second one is
// there, where there are maps, and where both tiles are whole or all tokens count.
// CHECK: %[[BLOCK:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK: %[[PAIR:.*]] = arith.divui %[[BLOCK]], %c2_i64 : i64
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST:.*]], %c128_i64 : i64
// CHECK: arith.cmpi ult, %[[NEXT]], %[[TOKENS:.*]] : i64
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c256_i64 : i64
// CHECK: arith.cmpi ult, %[[TOKENS]], %[[END]] : i64
// CHECK: %[[IS_SHARED:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: %[[RANK:.*]] = arith.remui %{{.*}}, %c2_i64 : i64
// CHECK: %[[BOTH:.*]] = arith.select %[[IS_SHARED]], %c3_i64, %{{.*}} : i64
// CHECK: %[[READER:.*]] = arith.select %[[IS_SHARED]], %{{.*}}, %[[RANK]] : i64
// CHECK: %[[BLOCKS:.*]] = arith.trunci %[[BOTH]] : i64 to i16
// CHECK: %[[OTHER:.*]] = nvvm.mapa %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK: %[[DEPARTURES:.*]] = llvm.ptrtoint %[[OTHER]] : !llvm.ptr<7> to i32
// CHECK: arith.muli %[[RANK]], %c128_i64 : i64
// Before the first copy, the other block is ready.
// CHECK: scf.if %[[IS_SHARED]] {
// CHECK-NEXT: nvvm.cluster.arrive {aligned}
// CHECK-NEXT: nvvm.cluster.wait {aligned}
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.cp.async.bulk.tensor
// In the loop, warps arrive at the mbarriers of both blocks, by an instruction that orders no
// writes.
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK: nvvm.mbarrier.arrive %{{.*}} : !llvm.ptr<3> -> i64
// CHECK-NEXT: %[[OFFSET:.*]] = arith.muli %{{.*}}, %c8_i32 : i32
// CHECK-NEXT: %[[PLACE:.*]] = arith.addi %[[DEPARTURES]], %[[OFFSET]] : i32
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "mbarrier.arrive.shared::cluster.b64 _, [$0];", "r,~{memory}" %[[PLACE]] : (i32) -> ()
// All bytes are announced: those that the other block asks for come as well.
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c24576_i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}} box[{{[^]]*}}] :
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}} box[{{[^]]*}}] multicast_mask = %[[BLOCKS]] :
// Alone, a block copies the other half too.
// CHECK: %[[IS_ALONE:.*]] = arith.xori %[[IS_SHARED]], %true : i1
// CHECK: scf.if %[[IS_ALONE]] {
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}} multicast_mask = %[[BLOCKS]] :
// A block does not end while the other one may arrive at its mbarriers.
// CHECK: llvm.store
// CHECK: scf.if %[[IS_SHARED]] {
// CHECK-NEXT: nvvm.cluster.arrive {aligned}
// CHECK-NEXT: nvvm.cluster.wait {aligned}
// CHECK-NEXT: }
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<128x128xbf16> from @w,
                           %z: !logitile.view<?x128xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 128) step (128, 64) {
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma_pairs : !logitile.view<?x128xbf16>, !logitile.view<128x128xbf16> -> !logitile.tile<128x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<128x64xf32> to !logitile.view<?x128xf32>
    }
  }

  // Where a line is a step of the shared axis, a block copies half of the steps of each panel.
  // CHECK-LABEL: llvm.func @weight_gradient(
  // CHECK-SAME: logitile.tensor_maps = [array<i64: 1, 64, 64>, array<i64: 2, 64, 32>]
  // CHECK: nvvm.cluster.arrive {aligned}
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}} box[{{[^]]*}}] :
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}} multicast_mask
  // CHECK: scf.if
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}} multicast_mask
  logitile.kernel @weight_gradient(%n: index from tokens, %g: !logitile.view<?x128xf16> from @g, %x: !logitile.view<?x128xf16> from @x,
                                   %dw: !logitile.view<128x128xf32> from @dw) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (128, 128) step (64, 128) {
      %tile = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 64 using wgmma_pairs : !logitile.view<?x128xf16>, !logitile.view<?x128xf16> -> !logitile.tile<64x128xf32>
      logitile.store %tile to %dw at [%row, %column] : !logitile.tile<64x128xf32> to !logitile.view<128x128xf32>
    }
  }

  // A kernel without a grid has one task, and its block no other.
  // CHECK-LABEL: llvm.func @alone(
  // CHECK-NOT: nvvm.cluster
  // CHECK-NOT: multicast_mask
  // CHECK: llvm.return
  logitile.kernel @alone(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<64x128xbf16> from @w,
                         %z: !logitile.view<?x64xf32> from @z) {
    %zero = arith.constant 0 : index
    %tile = logitile.project %x, %w at [%zero, %zero] by 64 using wgmma_pairs : !logitile.view<?x128xbf16>, !logitile.view<64x128xbf16> -> !logitile.tile<64x64xf32>
    logitile.store %tile to %z at [%zero, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x64xf32>
  }
}

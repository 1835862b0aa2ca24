// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Results of warpgroups of 16 bits, in rows of their own, are written from shared memory as boxes
// of 16 rows and 64 columns: each warp brings its rows there as matrices, and one of its threads
// asks for the boxes.

// CHECK-LABEL: llvm.func @weight(
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: i64, %[[MAP:[a-z0-9]+]]: !llvm.ptr {{{[^}]*}}}) attributes
// CHECK-SAME: array<i64: 3, 64, 16>]
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// No box that was written before is still read there.
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: nvvm.barrier0
// CHECK: %[[HAS_MAP:.*]] = arith.cmpi ult, %[[FIRST]], %{{.*}} : i64
// CHECK: %[[IS_BOX:.*]] = arith.andi %[[HAS_MAP]], %true : i1
// CHECK-NEXT: scf.if %[[IS_BOX]] {
// CHECK-COUNT-8: nvvm.stmatrix
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[IS_FIRST:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[IS_FIRST]] {
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%{{.*}}, %{{.*}}]
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// Without a map, threads write.
// CHECK: } else {
// CHECK:   llvm.store %{{.*}}, %{{.*}} : bf16, !llvm.ptr<1>
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: llvm.return
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [],
    mode = forward, tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @weight(%n: index from tokens, %g: !logitile.view<?x512xbf16> from @grad_z, %x: !logitile.view<?x128xbf16> from @packed,
                          %out: !logitile.view<512x128xbf16> from @gradient) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (512, 128) step (128, 128) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 32 using wgmma
          : !logitile.view<?x512xbf16>, !logitile.view<?x128xbf16> -> !logitile.tile<128x128xf32>
      logitile.store %sum to %out at [%row, %column] : !logitile.tile<128x128xf32> to !logitile.view<512x128xbf16>
    }
  }

  // Of rows that end with the tokens, only those that count are written: a box has none where one
  // of its rows does not.
  // CHECK-LABEL: llvm.func @logits(
  // CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1_i64 : i64
  // CHECK: %[[COUNTS:.*]] = arith.cmpi ult, %[[LAST]], %{{.*}} : i64
  // CHECK: %[[IS_BOX:.*]] = arith.andi %{{.*}}, %[[COUNTS]] : i1
  // CHECK: scf.if %[[IS_BOX]] {
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
  logitile.kernel @logits(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @x, %w: !logitile.view<512x128xbf16> from @w,
                          %z: !logitile.view<?x512xbf16> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 512) step (64, 64) {
      %tile = logitile.project %x, %w at [%row, %column] by 64 using wgmma : !logitile.view<?x128xbf16>, !logitile.view<512x128xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x512xbf16>
    }
  }

  // Nor is what the products are added to.
  // CHECK-LABEL: llvm.func @added(
  // CHECK-NOT: nvvm.cp.async.bulk.tensor.global
  // CHECK: llvm.return
  logitile.kernel @added(%n: index from tokens, %accumulate: i1 from accumulate_vocab_splits, %g: !logitile.view<?x512xbf16> from @grad_z,
                         %x: !logitile.view<?x128xbf16> from @packed, %out: !logitile.view<512x128xbf16> from @gradient) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (512, 128) step (128, 128) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 32 using wgmma plus %out when %accumulate
          : !logitile.view<?x512xbf16>, !logitile.view<?x128xbf16> plus !logitile.view<512x128xbf16> -> !logitile.tile<128x128xf32>
      logitile.store %sum to %out at [%row, %column] : !logitile.tile<128x128xf32> to !logitile.view<512x128xbf16>
    }
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Results of products, of which a thread has pairs of neighbours, go to memory of 16 bits as runs of eight: the four threads of a row trade
// them through shared memory. Chunks of a line trade places by the number of their row. The warp waits before it reads, and again before
// it writes for its next rows. Memory of the caller is asked whether it is aligned; columns past the end are stored one by one.

// CHECK-LABEL: llvm.func @weight(
// CHECK: nvvm.mma.sync
// CHECK: nvvm.barrier0
// CHECK: scf.for
// CHECK: scf.if
// CHECK:   arith.xori
// CHECK:   llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<3>
// CHECK:   nvvm.bar.warp.sync
// CHECK:   %[[FIRST:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK:   %[[SECOND:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK:   llvm.store %[[FIRST]], %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK:   llvm.store %[[SECOND]], %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK:   nvvm.bar.warp.sync
// CHECK: } else {
// CHECK-NOT: vector<8xbf16>
// CHECK:   llvm.store %{{.*}}, %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [], gradient_types = {},
    mode = forward, tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @weight(%n: index from tokens, %g: !logitile.view<?x512xbf16> from @grad_z, %x: !logitile.view<?x128xbf16> from @packed,
                          %out: !logitile.view<512x128xbf16> from @gradient) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (512, 128) step (128, 128) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 32 using mma_sync
          : !logitile.view<?x512xbf16>, !logitile.view<?x128xbf16> -> !logitile.tile<128x128xf32>
      logitile.store %sum to %out at [%row, %column] : !logitile.tile<128x128xf32> to !logitile.view<512x128xbf16>
    }
  }
}

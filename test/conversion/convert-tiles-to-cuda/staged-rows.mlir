// RUN: sed 's/$TARGET/sm_90a/; s/$ALGORITHM/wgmma/' %s | logitile-opt --convert-tiles-to-cuda | FileCheck %s
// RUN: sed 's/$TARGET/sm_80/; s/$ALGORITHM/mma_sync/' %s | logitile-opt --convert-tiles-to-cuda | FileCheck %s --check-prefix=PAIRS
// Results of warpgroups, of which a thread has pairs of neighbours, go to memory of 16 bits as runs
// of eight: the four threads of a row trade them through shared memory, four matrices of 8 x 8 at a
// time. Chunks of a line trade places by the number of their row. The warp waits before it reads.
// Memory of the caller is asked whether it is aligned. Rows that lie where a map says are no boxes.

// CHECK-LABEL: llvm.func @weight(
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK:   arith.xori
// CHECK:   llvm.bitcast %{{.*}} : vector<2xbf16> to i32
// CHECK:   nvvm.stmatrix %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {{.*}} layout = #nvvm.mma_layout<row>{{.*}} : !llvm.ptr<3>, i32, i32, i32, i32
// CHECK-NOT: !llvm.ptr<3>, vector
// CHECK:   nvvm.bar.warp.sync
// CHECK:   %[[FIRST:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK:   %[[SECOND:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK:   llvm.store %[[FIRST]], %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK:   llvm.store %[[SECOND]], %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: } else {
// CHECK-NOT: vector<8xbf16>
// CHECK:   llvm.store %{{.*}}, %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>

// A thread has many short rows of the blocks of mma.sync. These are written as pairs.
// PAIRS-NOT: nvvm.bar.warp.sync
// PAIRS: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<1>
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 128, element = bf16>], dense = {}, gradients = [],
    mode = forward, tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:$TARGET", threads = 1>} {
  logitile.kernel @weight(%n: index from tokens, %g: !logitile.view<?x512xbf16> from @grad_z, %x: !logitile.view<?x128xbf16> from @packed,
                          %map: !logitile.view<512xi32> from @map, %out: !logitile.view<512x128xbf16> from @gradient) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (512, 128) step (128, 128) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 32 using $ALGORITHM
          : !logitile.view<?x512xbf16>, !logitile.view<?x128xbf16> -> !logitile.tile<128x128xf32>
      logitile.store %sum to %out at [%row, %column] through %map : !logitile.tile<128x128xf32> to !logitile.view<512x128xbf16>, !logitile.view<512xi32>
    }
  }
}

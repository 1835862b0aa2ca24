// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Lists that are read. Threads leave the logits of a turn in shared memory, and share out the
// places of its rows. In the first tile, NaN takes the place of what there is not.
// CHECK-LABEL: llvm.func @sweep(
// CHECK: nvvm.barrier0
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: scf.for
// CHECK:   %[[INDEX:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK:   %[[OF_TILE:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i64
// CHECK:   %[[OF_VOCAB:.*]] = arith.cmpi ult, %{{.*}}, %c100_i64 : i64
// CHECK:   %[[OUTSIDE:.*]] = arith.cmpi uge, %{{.*}}, %c100_i64 : i64
// CHECK:   %[[INSIDE:.*]] = arith.andi %[[OF_TILE]], %[[OF_VOCAB]] : i1
// CHECK:   scf.if %[[INSIDE]] {
// CHECK:     %[[LOGIT:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK:     llvm.store %[[LOGIT]], %{{.*}} : f32, !llvm.ptr<1>

// A loop over places, whatever their number, with what each addition loses beside the sum.
// CHECK-LABEL: llvm.func @finish(
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, f32)
// CHECK-NOT: scf.for
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr<1>

// Each row has a thread once the tile is in memory: places of one row may name the same column.
// CHECK-LABEL: llvm.func @gradient(
// CHECK: nvvm.barrier0
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     scf.if
// CHECK:       arith.addf
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @sweep(%n: index from tokens, %x: !logitile.view<?x64xbf16> from @x, %w: !logitile.view<100x64xbf16> from @w,
                         %i: !logitile.view<?x50xi32, column_major> from @i, %picked: !logitile.view<?x50xf32, column_major> from @picked) {
    %zero = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 100 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      scf.for %column = %zero to %end step %step {
        %z = logitile.project %x, %w at [%row, %column] by 64 using mma_sync
            : !logitile.view<?x64xbf16>, !logitile.view<100x64xbf16> -> !logitile.tile<64x64xf32>
        logitile.pick_entries %z to [%i, %picked] at [%row, %column] tokens 64 below 100
            : !logitile.tile<64x64xf32> to [!logitile.view<?x50xi32, column_major>, !logitile.view<?x50xf32, column_major>]
      }
    }
  }
  logitile.kernel @finish(%n: index from tokens, %picked: !logitile.view<?x50xf32, column_major> from @picked, %t: !logitile.view<?xf32> from @t,
                          %sum: !logitile.view<?xf32> from @sum) {
    scf.forall (%row) = (0) to (%n) step (64) {
      %in = logitile.load %t at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      logitile.finish_places %picked with (%in : !logitile.tile<64x1xf32>) at %row tokens 64 places 50 reads [1] summed to %sum
          : !logitile.view<?x50xf32, column_major> to !logitile.view<?xf32> {
      ^bb0(%z: f32, %shift: f32):
        %y = arith.addf %z, %shift : f32
        logitile.yield %y : f32
      }
    }
  }
  logitile.kernel @gradient(%n: index from tokens, %z: !logitile.view<?x100xf32> from @z, %i: !logitile.view<?x50xi32, column_major> from @i,
                            %c: !logitile.view<?x50xf32, column_major> from @c, %g: !logitile.view<?x100xbf16> from @g) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x100xf32> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %g at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x100xbf16>
      logitile.scatter_terms [%i, %c] to %g at [%row, %zero] tokens 64 columns 64
          : [!logitile.view<?x50xi32, column_major>, !logitile.view<?x50xf32, column_major>] to !logitile.view<?x100xbf16>
    }
  }
}

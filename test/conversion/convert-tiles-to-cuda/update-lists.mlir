// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// Threads leave the order of their entries in shared memory; then each row of the turn has a
// thread, which goes along the columns that exist and puts what is larger than the smallest word
// into the heap of its row, in global memory.

// CHECK-LABEL: llvm.func @sweep(
// CHECK: nvvm.barrier0
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK: llvm.store %{{.*}}, %{{.*}} : i64, !llvm.ptr<1>
// CHECK: %[[LEAST:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i64
// CHECK: scf.for %{{.*}} iter_args(%[[NOW:.*]] = %[[LEAST]]) -> (i64)
// CHECK:   llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK:   %[[ENTERS:.*]] = arith.cmpi sgt, %{{.*}}, %[[NOW]] : i64
// CHECK:   scf.if %[[ENTERS]] -> (i64) {
// CHECK:     scf.while

// CHECK-LABEL: llvm.func @finish(
// CHECK: scf.while
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr<1>
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x100xf32> from @z, %list: !logitile.view<?x100xi64> from @list) {
    %zero = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 100 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      scf.for %column = %zero to %end step %step {
        %tile = logitile.load %z at [%row, %column] : !logitile.view<?x100xf32> -> !logitile.tile<64x64xf32>
        logitile.update_lists %list with (%tile : !logitile.tile<64x64xf32>) at [%zero, %row, %column] from %zero tokens 64 places [50]
            : !logitile.view<?x100xi64> {
        ^bb0(%x: f32):
          logitile.yield %x : f32
        }
      }
    }
  }
  logitile.kernel @finish(%n: index from tokens, %list: !logitile.view<?x100xi64> from @list, %last: !logitile.view<?xf32> from @last) {
    scf.forall (%row) = (0) to (%n) step (64) {
      logitile.finish_list %list at %row tokens 64 splits 2 places 50 place 49 to %last : !logitile.view<?x100xi64> to !logitile.view<?xf32> {
      ^bb0(%value: f32, %index: i32):
        logitile.yield %value : f32
      }
    }
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 | FileCheck %s
// Lists that are read. The indices of neighbouring tokens at one place are compared with the
// columns of the tile together.
// CHECK-LABEL: func.func @sweep(
// CHECK: scf.for
// CHECK: %[[INDICES:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xi32>
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[INSIDE]] : vector<16xi1> into i1
// CHECK: scf.if %[[ANY]] {

// Neighbouring tokens are in the lanes of a loop over places, with what each addition loses beside
// the sum.
// CHECK-LABEL: func.func @finish(
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<16xf32>, vector<16xf32>)
// CHECK-NOT: scf.for
// CHECK: llvm.store %{{.*}}, %{{.*}} : vector<16xf32>, !llvm.ptr

// CHECK-LABEL: func.func @gradient(
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
logitile.kernel @sweep(%n: index from tokens, %x: !logitile.view<?x64xbf16, row_panels> from @x, %w: !logitile.view<100x64xbf16> from @w,
                       %i: !logitile.view<?x50xi32, column_major> from @i, %picked: !logitile.view<?x50xf32, column_major> from @picked) {
  %zero = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 100 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    scf.for %column = %zero to %end step %step {
      %z = logitile.project %x, %w at [%row, %column] by 64 using panels
          : !logitile.view<?x64xbf16, row_panels>, !logitile.view<100x64xbf16> -> !logitile.tile<64x64xf32>
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
logitile.kernel @gradient(%n: index from tokens, %z: !logitile.view<?x100xf32, column_major> from @z, %i: !logitile.view<?x50xi32, column_major> from @i,
                          %c: !logitile.view<?x50xf32, column_major> from @c, %g: !logitile.view<?x100xbf16, column_major> from @g) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x100xf32, column_major> -> !logitile.tile<64x64xf32>
    logitile.store %tile to %g at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x100xbf16, column_major>
    logitile.scatter_terms [%i, %c] to %g at [%row, %zero] tokens 64 columns 64
        : [!logitile.view<?x50xi32, column_major>, !logitile.view<?x50xf32, column_major>] to !logitile.view<?x100xbf16, column_major>
  }
}

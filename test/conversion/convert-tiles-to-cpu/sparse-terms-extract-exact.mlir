// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 | FileCheck %s
// Entries are taken out of the exact tile, in scratch (8 lines of 64 + 16 elements), before it is
// rounded.

// CHECK: func.func @gradient({{.*}}) attributes {logitile.scratch_bytes = 2560 : i64}
// CHECK: vector.reduction <or>, %{{.*}} : vector<16xi1> into i1
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: llvm.store %[[SUM]], %{{.*}} : f32, !llvm.ptr
// CHECK: llvm.store %cst{{.*}}, %{{.*}} : f32, !llvm.ptr
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
logitile.kernel @gradient(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %c: !logitile.view<?xi32> from @c, %a: !logitile.view<?xf32> from @a,
                          %g: !logitile.view<?x8xbf16, column_major> from @g) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %dz = logitile.map(%tile) at %zero : (!logitile.tile<64x8xf32>) -> !logitile.tile<64x8xf32> {
    ^bb0(%z_in: f32):
      %d = arith.negf %z_in : f32
      logitile.yield %d : f32
    }
    %rest = logitile.sparse_terms extract %dz, [%c, %a] at [%row, %zero] below %n : !logitile.tile<64x8xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
    logitile.store %rest to %g at [%row, %zero] : !logitile.tile<64x8xf32> to !logitile.view<?x8xbf16, column_major>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// A gradient is written where it is stored to, element by element, without scratch. What does not
// differ along the vocabulary is computed once for a group of tokens. Lines are far apart in
// memory: on each one, what the next group of tokens reads and writes is prefetched.

// CHECK: func.func @gradient({{.*}}) attributes {logitile.scratch_bytes = 0 : i64}
// CHECK: scf.for
// CHECK:   %[[SCALED:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:   scf.for
// CHECK:     %[[Z:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK:     llvm.intr.prefetch
// CHECK:     %[[G:.*]] = arith.subf %[[Z]], %[[SCALED]] : vector<16xf32>
// CHECK:     llvm.store %[[G]], %{{.*}} : vector<16xf32>, !llvm.ptr
// CHECK:     llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
logitile.kernel @gradient(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %l: !logitile.view<?xf32> from @l, %g: !logitile.view<?x8xf32, column_major> from @g) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %lse = logitile.load %l at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    %dz = logitile.map(%tile, %lse) at %zero : (!logitile.tile<64x8xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x8xf32> {
    ^bb0(%z_in: f32, %l_in: f32):
      %two = arith.constant 2.0 : f32
      %x = arith.mulf %l_in, %two : f32
      %d = arith.subf %z_in, %x : f32
      logitile.yield %d : f32
    }
    logitile.store %dz to %g at [%row, %zero] : !logitile.tile<64x8xf32> to !logitile.view<?x8xf32, column_major>
  }
}

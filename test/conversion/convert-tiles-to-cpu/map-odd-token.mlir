// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 | FileCheck %s
// Contractions read tokens of a 16-bit gradient in pairs: lanes after the last token are zero.

// CHECK-LABEL: func.func @gradient(
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<16xi64>
// CHECK: %[[G:.*]] = arith.negf %{{.*}} : vector<16xf32>
// CHECK: %[[KEPT:.*]] = arith.select %[[INSIDE]], %[[G]], %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: arith.truncf %[[KEPT]] : vector<16xf32> to vector<16xbf16>
logitile.kernel @gradient(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %g: !logitile.view<?x8xbf16, column_major> from @g) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %dz = logitile.map(%tile) at %zero : (!logitile.tile<64x8xf32>) -> !logitile.tile<64x8xf32> {
    ^bb0(%z_in: f32):
      %d = arith.negf %z_in : f32
      logitile.yield %d : f32
    }
    logitile.store %dz to %g at [%row, %zero] : !logitile.tile<64x8xf32> to !logitile.view<?x8xbf16, column_major>
  }
}

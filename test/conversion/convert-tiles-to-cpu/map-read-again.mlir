// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// Stored logits and gradients share memory. As long as a later op reads the logits, the gradient
// waits in scratch: 8 lines of 128 + 16 elements, beside 8 sums in 32.

// CHECK: func.func @gradient({{.*}}) attributes {logitile.scratch_bytes = 4736 : i64}
logitile.kernel @gradient(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %g: !logitile.view<?x8xf32, column_major> from @g, %s: !logitile.view<1x8xf32> from @s) attributes {aliases = {g = @z}} {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (128) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<128x8xf32>
    %dz = logitile.map(%tile) at %zero : (!logitile.tile<128x8xf32>) -> !logitile.tile<128x8xf32> {
    ^bb0(%z_in: f32):
      %d = arith.negf %z_in : f32
      logitile.yield %d : f32
    }
    %sum = logitile.sum_tokens %tile at %row below %n : !logitile.tile<128x8xf32> -> !logitile.tile<1x8xf32>
    logitile.store %sum to %s at [%zero, %zero] : !logitile.tile<1x8xf32> to !logitile.view<1x8xf32>
    logitile.store %dz to %g at [%row, %zero] : !logitile.tile<128x8xf32> to !logitile.view<?x8xf32, column_major>
  }
}

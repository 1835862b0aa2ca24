// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// The old state is read after the new one is made, so the new one has a buffer of its own and is
// copied at the end.

// CHECK: func.func @finish({{.*}}) attributes {logitile.scratch_bytes = 768 : i64}
logitile.kernel @finish(%n: index from tokens, %p: !logitile.view<3x?xf32> from @p, %out: !logitile.view<?xf32> from @out, %last: !logitile.view<?xf32> from @last) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start = logitile.init_state : !logitile.tile<64x1xf32> {
      %c = arith.constant 0.0 : f32
      logitile.yield %c : f32
    }
    %state = scf.for %vocab_split = %zero to %three step %one iter_args(%rows = %start) -> (!logitile.tile<64x1xf32>) {
      %other = logitile.load %p at [%vocab_split, %row] : !logitile.view<3x?xf32> -> !logitile.tile<64x1xf32>
      %both = logitile.map(%rows, %other) : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
      ^bb0(%a: f32, %b: f32):
        %y = arith.addf %a, %b : f32
        logitile.yield %y : f32
      }
      %difference = logitile.map(%both, %rows) : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
      ^bb0(%a: f32, %b: f32):
        %y = arith.subf %a, %b : f32
        logitile.yield %y : f32
      }
      logitile.store %difference to %last at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
      scf.yield %both : !logitile.tile<64x1xf32>
    }
    logitile.store %state to %out at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

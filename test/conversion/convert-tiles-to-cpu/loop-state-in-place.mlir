// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// A row state is updated where it lies: one buffer of 64 elements, however often the loop runs.

// Each step of the loop asks first whether the call has been interrupted.

// CHECK: func.func @finish({{.*}}, %[[CHECKPOINT:.*]]: !llvm.ptr) attributes {logitile.scratch_bytes = 256 : i64}
// CHECK: scf.for
// CHECK: %[[MUST_END:.*]] = llvm.load %[[CHECKPOINT]] {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT: %[[ANSWER:.*]] = llvm.call %[[MUST_END]](%[[CHECKPOINT]]) : !llvm.ptr, (!llvm.ptr) -> i32
// CHECK-NEXT: %[[GOES_ON:.*]] = arith.cmpi eq, %[[ANSWER]], %{{.*}} : i32
// CHECK-NEXT: scf.if %[[GOES_ON]] {
logitile.kernel @finish(%n: index from tokens, %p: !logitile.view<3x?xf32> from @p, %out: !logitile.view<?xf32> from @out) {
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
      scf.yield %both : !logitile.tile<64x1xf32>
    }
    logitile.store %state to %out at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

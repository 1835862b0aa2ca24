// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// Rows go from view to panels without a tile between, through the map of tokens.

// CHECK: func.func @pack({{.*}}) attributes {logitile.scratch_bytes = 0 : i64}
// CHECK: %[[TOKEN:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK: %[[ROW:.*]] = arith.extsi %[[TOKEN]] : i32 to i64
// CHECK: arith.muli %[[ROW]], %{{.*}} : i64
// CHECK: func.call @copy_f32_bf16
logitile.kernel @pack(%n: index from tokens, %map: !logitile.view<?xi32> from @map, %x: !logitile.view<?x40xf32> from @x, %p: !logitile.view<?x40xbf16, row_panels> from @p) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (32) {
    %tile = logitile.load %x at [%row, %zero] through %map : !logitile.view<?x40xf32>, !logitile.view<?xi32> -> !logitile.tile<32x40xbf16>
    logitile.store %tile to %p at [%row, %zero] : !logitile.tile<32x40xbf16> to !logitile.view<?x40xbf16, row_panels>
  }
}

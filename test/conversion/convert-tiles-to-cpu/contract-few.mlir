// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 --split-input-file | FileCheck %s --implicit-check-not=@pack_f32_f32 --implicit-check-not=@pack_bf16_f32
// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 --split-input-file | FileCheck %s --check-prefix=DOT --implicit-check-not=@pack_pair
// In blocks of a few vocabulary entries, rows of the head are multiplied where they lie: no panels.
// What is left at the end is an update of its own, whose missing rows are zeros. Sums of 32 updates
// are added to the tile. Rows whose elements are no neighbours are copied first.

// CHECK-LABEL: func.func @contract(
// CHECK: scf.for {{.*}} step %c256_i64
// CHECK: func.call @pack_1_lines_f32_f32
// CHECK: func.call @update_8_f32_f32(
// CHECK: func.call @copy_f32_f32
// CHECK: func.call @update_8_f32_f32(
// CHECK: scf.if
// CHECK: call @clear_f32
// CHECK: call @update_8_f32_f32_rest(
// CHECK: call @add_scaled_f32

// One row of the next block is fetched while a part of the columns is multiplied; every token's sum
// starts from zero.
// CHECK-LABEL: func.func private @update_8_f32_f32(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: llvm.intr.prefetch
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<16xf32>
// CHECK: scf.for
// CHECK-COUNT-8: vector.fma
// CHECK: arith.addf
// CHECK: llvm.store
// CHECK-LABEL: func.func private @update_8_f32_f32_rest(
// CHECK: llvm.intr.masked.load
logitile.kernel @contract(%n: index from tokens, %g: !logitile.view<?x300xf32, column_major> from @g, %w: !logitile.view<300x64xf32> from @w, %out: !logitile.view<?x64xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 300 : index
  scf.forall (%row) = (0) to (%n) step (32) {
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 8 using rank_updates : !logitile.view<?x300xf32, column_major>, !logitile.view<300x64xf32> -> !logitile.tile<32x64xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<32x64xf32> to !logitile.view<?x64xf32>
  }
}

// -----

// Two rows side by side are pairs where the CPU multiplies those; else they are widened.
// CHECK-LABEL: func.func private @update_8_bf16_f32(
// CHECK-COUNT-8: arith.bitcast {{.*}} to vector<16xf32>
// DOT-LABEL: func.func private @update_8_bf16_bf16(
// DOT-COUNT-8: llvm.load {{.*}} -> vector<32xi16>
// DOT: vector.shuffle
// DOT: dpbf16ps
logitile.kernel @pairs(%n: index from tokens, %g: !logitile.view<?x100xbf16, column_major> from @g, %w: !logitile.view<100x64xbf16> from @w, %out: !logitile.view<?x64xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 100 : index
  scf.forall (%row) = (0) to (%n) step (32) {
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 8 using rank_updates : !logitile.view<?x100xbf16, column_major>, !logitile.view<100x64xbf16> -> !logitile.tile<32x64xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<32x64xf32> to !logitile.view<?x64xf32>
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 | FileCheck %s --check-prefix=DOT
// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s --check-prefix=WIDE
// With dot products of bf16, two vocabulary entries of both operands are brought side by side.
// Without, both become f32. The tokens of a microkernel lie one step after the other.

// DOT-LABEL: func.func @contract(
// DOT: func.call @pack_14_paired_lines_bf16_bf16
// DOT: func.call @pack_pair_bf16_bf16
// DOT: func.call @multiply_columns_14_bf16
// WIDE-LABEL: func.func @contract(
// WIDE: func.call @pack_14_lines_bf16_f32
// WIDE: func.call @pack_bf16_f32
// WIDE: func.call @multiply_columns_14_f32
logitile.kernel @contract(%n: index from tokens, %g: !logitile.view<?x96xbf16, column_major> from @g, %w: !logitile.view<96x32xbf16> from @w, %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using panels : !logitile.view<?x96xbf16, column_major>, !logitile.view<96x32xbf16> -> !logitile.tile<64x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

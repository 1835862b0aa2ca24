// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512_bf16 | FileCheck %s --check-prefix=DOT
// RUN: sed 's/xbf16, row_panels/xf32, row_panels/; s/xbf16, column/xf32, column/; s/32x40xbf16/32x40xf32/' %s \
// RUN:     | logitile-opt --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s --check-prefix=WIDE
// Operands that are f32 in memory and multiplied in bf16 are rounded where they are packed, once:
// with dot products they become pairs of bf16, without they stay f32 with the numbers of bf16.

// DOT-LABEL: func.func @pack(
// DOT: func.call @copy_f32_bf16
// WIDE-LABEL: func.func @pack(
// WIDE: func.call @copy_f32_to_bf16_f32
//
// The bits are those of a copy in bf16: rounded to nearest, widened again.
// WIDE-LABEL: func.func private @copy_f32_to_bf16_f32
// WIDE: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// WIDE: arith.trunci %{{.*}} : vector<16xi32> to vector<16xi16>
// WIDE: arith.extui %{{.*}} : vector<16xi16> to vector<16xi32>
// WIDE: llvm.store %{{.*}} {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
logitile.kernel @pack(%n: index from tokens, %map: !logitile.view<?xi32> from @map, %x: !logitile.view<?x40xf32 to bf16> from @x,
                      %p: !logitile.view<?x40xbf16, row_panels> from @p) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (32) {
    %tile = logitile.load %x at [%row, %zero] through %map : !logitile.view<?x40xf32 to bf16>, !logitile.view<?xi32> -> !logitile.tile<32x40xbf16>
    logitile.store %tile to %p at [%row, %zero] : !logitile.tile<32x40xbf16> to !logitile.view<?x40xbf16, row_panels>
  }
}

// DOT-LABEL: func.func @project(
// DOT: func.call @copy_f32_bf16
// DOT: func.call @multiply_rows_14_bf16
// WIDE-LABEL: func.func @project(
// WIDE: func.call @copy_f32_to_bf16_f32
// WIDE: func.call @multiply_rows_14_f32
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x32xbf16, row_panels> from @x, %w: !logitile.view<140x32xf32 to bf16> from @w,
                         %z: !logitile.view<?x140xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 140) step (64, 14) {
    %tile = logitile.project %x, %w at [%row, %column] by 32 using panels : !logitile.view<?x32xbf16, row_panels>, !logitile.view<140x32xf32 to bf16> -> !logitile.tile<64x14xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x14xf32> to !logitile.view<?x140xf32, column_major>
  }
}

// Rows of the head that sparse terms name are rounded as well.
// DOT-LABEL: func.func @contract(
// DOT: func.call @pack_pair_f32_bf16
// DOT: func.call @add_scaled_f32_to_bf16
// WIDE-LABEL: func.func @contract(
// WIDE: func.call @pack_f32_to_bf16_f32
// WIDE: func.call @add_scaled_f32_to_bf16
logitile.kernel @contract(%n: index from tokens, %g: !logitile.view<?x96xbf16, column_major> from @g, %w: !logitile.view<96x32xf32 to bf16> from @w,
                          %column: !logitile.view<?xi32> from @column, %coefficient: !logitile.view<?xf32> from @coefficient,
                          %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using panels : !logitile.view<?x96xbf16, column_major>, !logitile.view<96x32xf32 to bf16> -> !logitile.tile<64x32xf32>
    %exact = logitile.contract_sparse %sum, [%column, %coefficient], %w at [%row, %zero] below %n
        : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<96x32xf32 to bf16>
    logitile.store %exact to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}

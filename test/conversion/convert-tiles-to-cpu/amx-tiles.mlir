// RUN: logitile-opt %s --convert-tiles-to-cpu | FileCheck %s
// RUN: logitile-compile --from=tiles --to=obj %s -o %t.o
// RUN: llvm-objdump -d --no-show-raw-insn %t.o | FileCheck %s --check-prefix=CODE
// RUN: logitile-compile --from=tiles --to=llvm --target=cpu:amx_bf16_emulated %s | FileCheck %s --check-prefix=EMULATED
// Products of bf16 on the tile registers of AMX: their shapes first, then sums of 2 x 2 registers,
// and all are released.

// Operands as panels have them. Rows keep the shape of registers while all panels pass by. What
// fills no whole step of 16 pairs is a step of its own, with registers of another shape.
// CHECK-LABEL: func.func @project(
// CHECK: func.call @copy_bf16_bf16
// CHECK: func.call @configure_tiles(%{{.*}}, %{{.*}}, %c16_i64{{.*}})
// CHECK: scf.for
// CHECK: func.call @multiply_tiles_1
// CHECK: func.call @multiply_tiles_2
// CHECK: func.call @configure_tiles
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK: func.func private @configure_tiles
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: func.func private @multiply_tiles_1
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK-NOT: "llvm.x86.tdpbf16ps"
// CHECK: func.func private @multiply_tiles_2
// CHECK-COUNT-4: "llvm.x86.tilezero"
// CHECK: scf.for
// CHECK-COUNT-2: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: "llvm.x86.tilestored64"

// CODE-LABEL: <project>:
// CODE: tilerelease
// CODE: <configure_tiles>:
// CODE: ldtilecfg
// CODE: <multiply_tiles_2>:
// CODE-DAG: tileloadd {{.*}}, %tmm4
// CODE-DAG: tileloadd {{.*}}, %tmm6
// CODE: tdpbf16ps %tmm6, %tmm4, %tmm0
// CODE: tileloadd {{.*}}, %tmm7
// CODE: tdpbf16ps %tmm7, %tmm4, %tmm1
// CODE: tileloadd {{.*}}, %tmm5
// CODE: tdpbf16ps %tmm6, %tmm5, %tmm2
// CODE: tdpbf16ps %tmm7, %tmm5, %tmm3
// CODE: tilestored %tmm0

// EMULATED-NOT: llvm.x86.t
// EMULATED: call void @logitile_tilerelease()
// EMULATED: call void @logitile_tdpbf16ps(i8 0, i8 4, i8 6)
// EMULATED-NOT: +amx
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 72, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cpu:amx_bf16", threads = 1>} {
logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x72xbf16, row_panels> from @x, %w: !logitile.view<140x72xbf16> from @w,
                         %z: !logitile.view<?x140xf32, column_major> from @z) {
  scf.forall (%row, %column) = (0, 0) to (%n, 140) step (64, 40) {
    %tile = logitile.project %x, %w at [%row, %column] by 72 using amx_tiles : !logitile.view<?x72xbf16, row_panels>, !logitile.view<140x72xbf16> -> !logitile.tile<64x40xf32>
    logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x40xf32> to !logitile.view<?x140xf32, column_major>
  }
}

// Logit gradients lie step by step: they are transposed as they are packed. Those of weight
// gradients lie as registers take them.
// CHECK-LABEL: func.func @contract(
// CHECK: func.call @pack_transposed_bf16
// CHECK: func.call @pack_pair_bf16_bf16
// CHECK: func.call @configure_tiles
logitile.kernel @contract(%n: index from tokens, %g: !logitile.view<?x96xbf16, column_major> from @g, %w: !logitile.view<96x32xbf16> from @w, %out: !logitile.view<?x32xf32> from @out) {
  %zero = arith.constant 0 : index
  %v = arith.constant 96 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %sum = logitile.contract %g, %w at [%row, %zero] over [%zero to %v] by 48 using amx_tiles : !logitile.view<?x96xbf16, column_major>, !logitile.view<96x32xbf16> -> !logitile.tile<64x32xf32>
    logitile.store %sum to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32>
  }
}
}

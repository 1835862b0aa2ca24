// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// The pipeline of a product: copies three blocks ahead of it, fragments a step ahead, a barrier for
// each block, sums carried by the loop. Tokens are clipped, for their number is not known;
// vocabulary and hidden entries are not, for tiles divide them. Operands that are not aligned have
// a loop of their own, with copies of single elements. A loop carries one pointer to each operand;
// copies of blocks after the end read nothing, without a branch that would keep copies and products
// apart.

// CHECK: llvm.mlir.global external @shared$memory() {addr_space = 3 : i32, alignment = 128 : i64}
// CHECK-LABEL: llvm.func @project(
// CHECK-SAME: %[[COUNTED:[^:]+]]: !llvm.ptr<1>, %[[FIRST:[^:]+]]: i64, %[[MOST:[^:]+]]: i64, %{{[^:]+}}: !llvm.ptr<1>
// CHECK-SAME: logitile.shared_bytes = 32768 : i64, logitile.threads = 128 : i64
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
// How many tokens count only the GPU knows; blocks beyond them have nothing to do.
// CHECK: %[[ALL:.*]] = llvm.load %[[COUNTED]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[ALL]], %[[FIRST]]
// CHECK: arith.maxsi %[[LEFT]]
// CHECK: %[[COUNT:.*]] = arith.minsi %{{.*}}, %[[MOST]]
// CHECK: %[[WORD:.*]] = arith.trunci %[[COUNT]] : i64 to i32
// CHECK: %[[N:.*]] = arith.extui %[[WORD]] : i32 to i64
// CHECK: %[[HAS_ROWS:.*]] = arith.cmpi ult, %{{.*}}, %[[N]]
// CHECK: %[[IS_THERE:.*]] = arith.andi %[[HAS_ROWS]]
// CHECK: scf.if %[[IS_THERE]]
// CHECK: nvvm.barrier0
// CHECK-NEXT: scf.if %{{.*}} -> (f32
// CHECK-COUNT-4: llvm.inline_asm has_side_effects asm_dialect = att "cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;"
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 2
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {{{.*}}num = 4 : i32
// CHECK: scf.for %{{.*}} iter_args(%[[X:[^ ]*]] = %{{[^ ]*}}, %[[W:[^ ]*]] = %{{[^ ]*}},
// CHECK-DAG: %[[X_NEXT:.*]] = llvm.getelementptr %[[X]][
// CHECK-DAG: %[[W_NEXT:.*]] = llvm.getelementptr %[[W]][
// CHECK-NOT: llvm.load
// CHECK-NOT: scf.if
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK:   %[[AHEAD:.*]] = arith.cmpi slt
// CHECK:   %[[READS:.*]] = arith.andi %{{.*}}, %[[AHEAD]] : i1
// CHECK:   %[[BYTES:.*]] = arith.select %[[READS]]
// CHECK:   llvm.inline_asm {{.*}}cp.async{{.*}}, %[[BYTES]] :
// CHECK-COUNT-3: cp.async.cg
// CHECK:   nvvm.cp.async.commit.group
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK:   nvvm.cp.async.wait.group 2
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NEXT: llvm.extractvalue
// CHECK:   scf.yield %[[X_NEXT]], %[[W_NEXT]],
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: scf.for %{{.*}} iter_args(
// CHECK-NOT: nvvm.barrier0
// CHECK:   scf.for
// CHECK:     llvm.load
// CHECK:   nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// Rows are compared with the number of tokens, columns with nothing.
// CHECK: arith.cmpi ult, %{{.*}}, %[[N]] : i64
// CHECK: llvm.store
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @project(%n: index from tokens, %x: !logitile.view<?x64xbf16> from @x, %w: !logitile.view<128x64xbf16> from @w,
                           %z: !logitile.view<?x128xf32> from @z) {
    scf.forall (%row, %column) = (0, 0) to (%n, 128) step (64, 64) {
      %tile = logitile.project %x, %w at [%row, %column] by 32 using mma_sync : !logitile.view<?x64xbf16>, !logitile.view<128x64xbf16> -> !logitile.tile<64x64xf32>
      logitile.store %tile to %z at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x128xf32>
    }
  }
}

// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// The warps of a block share out the tokens. Each looks at 512, sixteen per lane, in words of 32
// bits, and leaves a bit for each token that names a row of the tile. Then each turns to those of
// one of its own rows, and does not walk through all tokens.

// CHECK-LABEL: llvm.func @terms(
// CHECK: scf.for %{{.*}} = %c0_i64 to %{{.*}} step %c2048_i64 iter_args(
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: nvvm.vote.sync
// CHECK-COUNT-16: arith.ori %{{.*}} : i32
// CHECK-COUNT-16: nvvm.vote.sync ballot
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK-NEXT: scf.for %{{.*}} = %c0_i64 to %c64_i64 step %c32_i64
// CHECK:        llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK:        %[[LANES:.*]] = nvvm.vote.sync ballot
// CHECK:        llvm.intr.ctpop(%[[LANES]]) : (i32) -> i32
// CHECK:        scf.for %{{.*}} iter_args({{.*}} = %[[LANES]])
// CHECK:          "llvm.intr.cttz"(%{{.*}}) <{is_zero_poison = true}> : (i32) -> i32
// CHECK:          %[[BITS:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK:          llvm.intr.ctpop(%[[BITS]]) : (i32) -> i32
// CHECK:          scf.for %{{.*}} iter_args({{.*}} = %[[BITS]])
// CHECK:            "llvm.intr.cttz"(%{{.*}}) <{is_zero_poison = true}> : (i32) -> i32
// CHECK:            scf.if %{{.*}} -> (f32
// CHECK:              arith.mulf
// CHECK:              scf.yield
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @terms(%n: index from tokens, %g: !logitile.view<?x128xbf16> from @g, %x: !logitile.view<?x64xbf16> from @x,
                         %c: !logitile.view<?xi32> from @c, %a: !logitile.view<?xf32> from @a, %out: !logitile.view<128x64xf32> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (128, 64) step (64, 64) {
      %sum = logitile.contract %g transposed, %x at [%row, %column] over [%zero to %n] by 32 using mma_sync : !logitile.view<?x128xbf16>, !logitile.view<?x64xbf16> -> !logitile.tile<64x64xf32>
      %all = logitile.contract_sparse %sum, [%c, %a] transposed, %x at [%row, %column] below %n
        : !logitile.tile<64x64xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<?x64xbf16>
      logitile.store %all to %out at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<128x64xf32>
    }
  }
}

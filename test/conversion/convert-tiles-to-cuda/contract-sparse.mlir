// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// A warp looks for tokens that name one of its rows: each lane at sixteen of 512 at once, in words of 32 bits. It votes once whether
// there are any, and turns to those that its lanes found, and does not walk through all tokens.

// CHECK-LABEL: llvm.func @terms(
// CHECK: scf.for %{{.*}} = %c0_i64 to %{{.*}} step %c512_i64 iter_args(
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: nvvm.vote.sync
// CHECK-COUNT-16: arith.ori %{{.*}} : i32
// CHECK:   nvvm.vote.sync ballot
// CHECK-NEXT: %[[ANY:.*]] = arith.cmpi ne
// CHECK-NEXT: scf.if %[[ANY]] -> (f32
// CHECK:     scf.for %{{.*}} = %c0_i64 to %c16_i64
// CHECK:       arith.shli %c1_i32
// CHECK:       %[[BITS:.*]] = nvvm.vote.sync ballot
// CHECK:       llvm.intr.ctpop(%[[BITS]]) : (i32) -> i32
// CHECK:       scf.for %{{.*}} iter_args({{.*}} = %[[BITS]])
// CHECK:         "llvm.intr.cttz"(%{{.*}}) <{is_zero_poison = true}> : (i32) -> i32
// CHECK:         arith.mulf
// CHECK:         scf.yield
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], gradient_types = {}, mode = forward,
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

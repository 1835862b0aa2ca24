// What rows name is read for all terms of a turn's two rows, before any of it is compared. Columns
// are compared, with constants, only where one of the tile's is named.
// RUN: logitile-opt --convert-tiles-to-cuda --canonicalize --cse %s | FileCheck %s

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  // CHECK-LABEL: llvm.func @terms
  // CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<1> -> i32
  // CHECK-NOT: !llvm.ptr<1> -> i32
  // CHECK: %[[IN_TILE:.*]] = arith.cmpi ult, %{{.*}}, %c32_i32 : i32
  // CHECK-NEXT: scf.if %[[IN_TILE]]
  // CHECK: arith.cmpi eq, %[[FROM_FIRST:.*]], %c0_i32 : i32
  // CHECK: arith.cmpi eq, %[[FROM_FIRST]], %c1_i32 : i32
  // CHECK: llvm.load
  // CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
  // CHECK: } else {
  // CHECK-COUNT-3: arith.cmpi ult, %{{.*}}, %c32_i32 : i32
  logitile.kernel @terms(%tokens: index from tokens, %z: !logitile.view<?x64xf32> from @z, %first: !logitile.view<?xi32> from @first,
                         %a: !logitile.view<?xf32> from @a, %second: !logitile.view<?xi32> from @second,
                         %b: !logitile.view<?xf32> from @b, %out: !logitile.view<?x64xbf16> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row, %column) = (0, 0) to (%tokens, 64) step (32, 32) {
      %loaded = logitile.load %z at [%row, %column] : !logitile.view<?x64xf32> -> !logitile.tile<32x32xf32>
      %g = logitile.map(%loaded) : (!logitile.tile<32x32xf32>) -> !logitile.tile<32x32xf32> {
      ^bb0(%x: f32):
        %y = arith.negf %x : f32
        logitile.yield %y : f32
      }
      %rest = logitile.sparse_terms extract %g, [%first, %a, %second, %b] at [%row, %column] below %tokens
          : !logitile.tile<32x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>, !logitile.view<?xi32>, !logitile.view<?xf32>]
      logitile.store %rest to %out at [%row, %column] : !logitile.tile<32x32xf32> to !logitile.view<?x64xbf16>
    }
  }
}

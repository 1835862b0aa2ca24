// RUN: sed 's/$SIZE/512/g' %s | logitile-opt --convert-tiles-to-cuda | FileCheck %s
// RUN: sed 's/$SIZE/128/g' %s | logitile-opt --convert-tiles-to-cuda | FileCheck %s --check-prefix=SHORT
// The boxes of a loop's first tile are asked for before it, those of other tiles while the last
// blocks of the tile before are multiplied. So neither a barrier nor a copy stands between two
// products. A warp has all columns of its rows, so its lanes have the states of these rows, and
// warps need not wait for each other between two tiles.

// CHECK-LABEL: llvm.func @project(
// CHECK-SAME: logitile.shared_bytes = 99328 : i64
// CHECK: scf.if
// CHECK:   nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK-NEXT: nvvm.barrier0
// CHECK:   scf.for
// CHECK:     nvvm.cp.async.bulk.tensor
// CHECK:     nvvm.cp.async.bulk.tensor
// CHECK: scf.for %[[NUMBER:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
// CHECK: %[[COLUMN:.*]] = arith.extui %[[NUMBER]] : i32 to i64
// CHECK: %[[NEXT:.*]] = arith.addi %[[COLUMN]], %[[STEP:.*]] : i64
// CHECK-NEXT: %[[HAS_NEXT:.*]] = arith.cmpi ult, %[[NEXT]], %{{.*}} : i64
// CHECK-NOT: nvvm.barrier0
// CHECK-NOT: nvvm.cp.async.bulk.tensor
// CHECK: %[[OF_THIS:.*]] = arith.subi %[[BLOCKS:[a-z0-9_]*]], %c3_i32 : i32
// CHECK: %[[TURNS:.*]] = arith.select %[[HAS_NEXT]], %[[BLOCKS]], %[[OF_THIS]] : i32
// CHECK: %[[COPIES:.*]] = arith.select %{{.*}}, %[[TURNS]], %c0_i32 : i32
// CHECK: scf.for %[[BLOCK:.*]] = %c0_i32 to %[[BLOCKS]] step %c1_i32
// CHECK:   nvvm.wgmma.commit.group.sync.aligned
// CHECK:   %[[COPIES_NOW:.*]] = arith.cmpi slt, %[[BLOCK]], %[[COPIES]] : i32
// CHECK:   scf.if %[[COPIES_NOW]]
// CHECK:     %[[LATER:.*]] = arith.addi %[[BLOCK]], %c3_i32 : i32
// CHECK:     %[[IS_OF_THIS:.*]] = arith.cmpi slt, %[[LATER]], %[[BLOCKS]] : i32
// CHECK:     %[[OF_NEXT:.*]] = arith.subi %[[LATER]], %[[BLOCKS]] : i32
// CHECK:     arith.select %[[IS_OF_THIS]], %[[LATER]], %[[OF_NEXT]] : i32
// CHECK:     %[[MOVED:.*]] = arith.addi %[[COLUMN]], %[[STEP]] : i64
// CHECK:     arith.select %[[IS_OF_THIS]], %[[COLUMN]], %[[MOVED]] : i64
// CHECK:     nvvm.cp.async.bulk.tensor
// CHECK:     nvvm.cp.async.bulk.tensor
// CHECK: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.barrier0
// CHECK: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.return

// Fewer blocks than are asked for ahead: each tile asks for its own.
// SHORT-LABEL: llvm.func @project(
// SHORT-SAME: logitile.shared_bytes = 99328 : i64
// SHORT: scf.for
// SHORT: nvvm.fence.proxy
// SHORT-NEXT: nvvm.barrier0
// SHORT: nvvm.cp.async.bulk.tensor
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = $SIZE, element = bf16>], dense = {},
    gradients = [], mode = forward, tokens = 256, workspace = 1, chunks = 0, accumulate = false,
    target = "cuda:sm_90a", threads = 1>} {
  logitile.kernel @project(%count: index from tokens, %x: !logitile.view<?x$SIZExbf16> from @packed_z_rows,
                           %w: !logitile.view<4096x$SIZExbf16> from @z_weight, %maxima: !logitile.view<?xf32> from @known_max) {
    %zero = arith.constant 0 : index
    %end = arith.constant 4096 : index
    %step = arith.constant 64 : index
    scf.forall (%row) = (0) to (%count) step (128) {
      %start = logitile.init_state : !logitile.tile<128x1xf32> {
        %lowest = arith.constant 0xFF7FFFFF : f32
        logitile.yield %lowest : f32
      }
      %max = scf.for %column = %zero to %end step %step iter_args(%running = %start) -> (!logitile.tile<128x1xf32>) {
        %z = logitile.project %x, %w at [%row, %column] by 64 using wgmma
            : !logitile.view<?x$SIZExbf16>, !logitile.view<4096x$SIZExbf16> -> !logitile.tile<128x64xf32>
        %next = logitile.update_state(%running) with(%z) at %column below 4096 : (!logitile.tile<128x1xf32>), (!logitile.tile<128x64xf32>) init {
          %lowest = arith.constant 0xFF7FFFFF : f32
          logitile.yield %lowest : f32
        } candidate {
        ^bb0(%value: f32):
          logitile.yield %value : f32
        } update {
        ^bb0(%highest: f32, %value: f32):
          logitile.yield %highest : f32
        } merge {
        ^bb0(%a: f32, %b: f32, %value: f32):
          %larger = arith.maximumf %a, %b : f32
          logitile.yield %larger : f32
        }
        scf.yield %next : !logitile.tile<128x1xf32>
      }
      logitile.store %max to %maxima at [%row] : !logitile.tile<128x1xf32> to !logitile.view<?xf32>
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// dX = G W over the slabs of the loop, added to what earlier slabs left; the single entries come in unrounded.
// CHECK-LABEL: logitile.kernel @hidden(%tokens: index from "tokens", %slab_first: index from "slab_first", %slab_behind: index from "slab_behind",
// CHECK-SAME: %again_slabs: i1 from "again.slabs", %map: !logitile.view<?xi32> from "map", %grad_z: !logitile.view<?x300xbf16> from "grad.z",
// CHECK-SAME: %z_weight: !logitile.view<300x24xbf16> from "z.weight", %target: !logitile.view<?xi32> from "target", %known_row: !logitile.view<?xf32> from "known.row",
// CHECK-SAME: %sum_z_hidden: !logitile.view<?x24xf32> from "sum.z.hidden") {
// CHECK: %first = arith.muli %slab_first, %slabColumns : index
// CHECK-NEXT: %unclipped = arith.muli %slab_behind, %slabColumns : index
// CHECK-NEXT: %behind = arith.minui %unclipped, %v : index
// CHECK-NEXT: scf.forall (%row, %column) = (0, 0) to (%tokens, %d) step (%tm, %td) {
// CHECK-NEXT: %sum = logitile.contract %grad_z, %z_weight at [%row, %column] over [%first to %behind] by 16 plus %sum_z_hidden when %again_slabs through %map : !logitile.view<?x300xbf16>, !logitile.view<300x24xbf16> plus !logitile.view<?x24xf32> through !logitile.view<?xi32> -> !logitile.tile<64x8xf32>
// CHECK-NEXT: %exact = logitile.contract_terms %sum, [%target, %known_row], %z_weight at [%row, %column] below %tokens : !logitile.tile<64x8xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<300x24xbf16>
// CHECK-NEXT: logitile.store %exact to %sum_z_hidden at [%row, %column] through %map : !logitile.tile<64x8xf32> to !logitile.view<?x24xf32>, !logitile.view<?xi32>
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f adjoint results ["row" : f32] {
    %up = logitile.input upstream "loss" : f32
    logitile.yield %up : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %row = logitile.input known "row" : f32
    logitile.adjoint logits "z" dense %z rows [%target -> %row]
  }
  logitile.schedule tokens [0, 4096) slab 100 kept 0 {
    logitile.buffer "map" call : !logitile.view<?xi32>
    logitile.buffer "z.weight" input : !logitile.view<300x24xbf16>
    logitile.buffer "target" call : !logitile.view<?xi32>
    logitile.buffer "known.row" chunk : !logitile.view<?xf32>
    logitile.buffer "grad.z" chunk : !logitile.view<?x300xbf16>
    logitile.buffer "sum.z.hidden" chunk : !logitile.view<?x24xf32>
    logitile.run adjoint {
      logitile.loop slabs 2 {
        logitile.launch "hidden" from @contract_hidden<TM = 64, TD = 8, TK = 16, D = 24, in = bf16, g = bf16, out = f32, acc = f32>
            input "z" views {grad = "grad.z", weight = "z.weight", out = "sum.z.hidden"} again slabs
      }
    }
  }
}

// RUN: %specialise %s | FileCheck %s

// The end of a gradient that was summed in parts: its single entries come in, then it is rounded, rows through the map.
// CHECK-LABEL: logitile.kernel @round(%tokens: index from "tokens", %map_z_hidden: !logitile.view<?xi32> from "map.z.hidden",
// CHECK-SAME: %sum_z_hidden: !logitile.view<?x24xf32> from "sum.z.hidden", %z_weight: !logitile.view<300x24xbf16> from "z.weight",
// CHECK-SAME: %target: !logitile.view<?xi32> from "target", %known_row: !logitile.view<?xf32> from "known.row",
// CHECK-SAME: %gradient_z_hidden: !logitile.view<?x24xbf16> from "gradient.z.hidden") {
// CHECK: scf.forall (%row, %column) = (0, 0) to (%tokens, %d) step (%tm, %td) {
// CHECK-NEXT: %tile = logitile.load %sum_z_hidden at [%row, %column] : !logitile.view<?x24xf32> -> !logitile.tile<64x8xf32>
// CHECK-NEXT: %exact = logitile.contract_terms %tile, [%target, %known_row], %z_weight at [%row, %column] below %tokens : !logitile.tile<64x8xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<300x24xbf16>
// CHECK-NEXT: logitile.store %exact to %gradient_z_hidden at [%row, %column] through %map_z_hidden : !logitile.tile<64x8xf32> to !logitile.view<?x24xbf16>, !logitile.view<?xi32>
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
    logitile.buffer "map.z.hidden" call : !logitile.view<?xi32>
    logitile.buffer "z.weight" input : !logitile.view<300x24xbf16>
    logitile.buffer "target" call : !logitile.view<?xi32>
    logitile.buffer "known.row" chunk : !logitile.view<?xf32>
    logitile.buffer "grad.z" chunk : !logitile.view<?x300xbf16>
    logitile.buffer "sum.z.hidden" chunk : !logitile.view<?x24xf32>
    logitile.buffer "gradient.z.hidden" output : !logitile.view<?x24xbf16>
    logitile.run adjoint {
      logitile.launch "round" from @round_rows<TM = 64, TD = 8, D = 24, in = bf16, acc = f32, out = bf16>
          input "z" views {map = "map.z.hidden", sum = "sum.z.hidden", weight = "z.weight", out = "gradient.z.hidden"}
    }
  }
}

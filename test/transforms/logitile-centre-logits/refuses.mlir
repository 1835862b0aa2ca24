// RUN: %refused --logitile-centre-logits %s

// expected-error @below {{keeps logits as 'f16', but the schedule has no buffer 'centre.z'}}
logitile.kernel @no_memory(%count: index from "tokens", %kept: !logitile.view<?x32xf16, column_major> from "kept.z") {
  scf.forall (%row) = (0) to (%count) step (64) {
    %z = logitile.load %kept at [%row, %row] : !logitile.view<?x32xf16, column_major> -> !logitile.tile<64x32xf32>
  }
}

// -----

logitile.kernel @no_maximum(%count: index from "tokens", %x: !logitile.view<?x16xf32> from "z.hidden", %w: !logitile.view<32x16xf32> from "z.weight",
                            %kept: !logitile.view<?x32xf16, column_major> from "kept.z") {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %z = logitile.project %x, %w at [%row, %zero] by 16 : !logitile.view<?x16xf32>, !logitile.view<32x16xf32> -> !logitile.tile<64x32xf32>
    // expected-error @below {{keeps logits in 16 bits; they need one running maximum to be relative to}}
    logitile.store %z to %kept at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) slab 32 kept 32 {
    logitile.buffer "centre.z" chunk : !logitile.view<1x?xf32>
  }
}

// -----

logitile.kernel @other_reader(%count: index from "tokens", %kept: !logitile.view<?x32xf16, column_major> from "kept.z",
                              %out: !logitile.view<?x32xf32, column_major> from "out") {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    // expected-error @below {{reads logits of 16 bits for 'logitile.store'; only maps add their centre}}
    %z = logitile.load %kept at [%row, %zero] : !logitile.view<?x32xf16, column_major> -> !logitile.tile<64x32xf32>
    logitile.store %z to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32, column_major>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) slab 32 kept 32 {
    logitile.buffer "centre.z" chunk : !logitile.view<1x?xf32>
  }
}

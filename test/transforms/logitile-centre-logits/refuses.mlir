// RUN: %refused --logitile-centre-logits %s

logitile.kernel @no_memory(%count: index from tokens, %x: !logitile.view<?x16xf32> from @z_hidden, %w: !logitile.view<32x16xf32> from @z_weight,
                       %kept: !logitile.view<?x32xf16, column_major> from @kept_z) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %rows = logitile.init_rows : !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    }
    %z = logitile.project %x, %w at [%row, %zero] by 16 using dot_products : !logitile.view<?x16xf32>, !logitile.view<32x16xf32> -> !logitile.tile<64x32xf32>
    // expected-error @below {{keeps logits in 16 bits, but the schedule has no buffer for centre of "z"}}
    logitile.store %z to %kept at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
    %next = logitile.update_rows(%rows) with (%z) at %zero below 32 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    } bound {
    ^bb0(%value: f32):
      logitile.yield %value : f32
    } update {
    ^bb0(%m: f32, %value: f32):
      logitile.yield %m : f32
    } merge {
    ^bb0(%a: f32, %b: f32, %value: f32):
      %both = arith.maxnumf %a, %b : f32
      logitile.yield %both : f32
    }
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 32 kept 32 {
    logitile.buffer @kept_z chunk kept of "z" : !logitile.view<?x32xf16, column_major>
  }
}

// -----

logitile.kernel @no_maximum(%count: index from tokens, %x: !logitile.view<?x16xf32> from @z_hidden, %w: !logitile.view<32x16xf32> from @z_weight,
                       %kept: !logitile.view<?x32xf16, column_major> from @kept_z) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %z = logitile.project %x, %w at [%row, %zero] by 16 using dot_products : !logitile.view<?x16xf32>, !logitile.view<32x16xf32> -> !logitile.tile<64x32xf32>
    // expected-error @below {{keeps logits in 16 bits; they need one running maximum to be relative to}}
    logitile.store %z to %kept at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 32 kept 32 {
    logitile.buffer @kept_z chunk kept of "z" : !logitile.view<?x32xf16, column_major>
    logitile.buffer @centre_z chunk centre of "z" : !logitile.view<1x?xf32>
  }
}

// -----

logitile.kernel @stores(%count: index from tokens, %x: !logitile.view<?x16xf32> from @z_hidden, %w: !logitile.view<32x16xf32> from @z_weight,
                       %kept: !logitile.view<?x32xf16, column_major> from @kept_z) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %rows = logitile.init_rows : !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    }
    %z = logitile.project %x, %w at [%row, %zero] by 16 using dot_products : !logitile.view<?x16xf32>, !logitile.view<32x16xf32> -> !logitile.tile<64x32xf32>
    logitile.store %z to %kept at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
    %next = logitile.update_rows(%rows) with (%z) at %zero below 32 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    } bound {
    ^bb0(%value: f32):
      logitile.yield %value : f32
    } update {
    ^bb0(%m: f32, %value: f32):
      logitile.yield %m : f32
    } merge {
    ^bb0(%a: f32, %b: f32, %value: f32):
      %both = arith.maxnumf %a, %b : f32
      logitile.yield %both : f32
    }
  }
}
logitile.kernel @other_reader(%count: index from tokens, %kept: !logitile.view<?x32xf16, column_major> from @kept_z,
                         %out: !logitile.view<?x32xf32, column_major> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    // expected-error @below {{reads logits of 16 bits for 'logitile.store'; only maps know their base}}
    %z = logitile.load %kept at [%row, %zero] : !logitile.view<?x32xf16, column_major> -> !logitile.tile<64x32xf32>
    logitile.store %z to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32, column_major>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 32 kept 32 {
    logitile.buffer @kept_z chunk kept of "z" : !logitile.view<?x32xf16, column_major>
    logitile.buffer @centre_z chunk centre of "z" : !logitile.view<1x?xf32>
  }
}

// -----

// The sweep's base is twice the logits, and who reads them wants the logits.
logitile.kernel @stores(%count: index from tokens, %x: !logitile.view<?x16xf32> from @z_hidden, %w: !logitile.view<32x16xf32> from @z_weight,
                       %kept: !logitile.view<?x32xf16, column_major> from @kept_z) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %rows = logitile.init_rows : !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    }
    %z = logitile.project %x, %w at [%row, %zero] by 16 using dot_products : !logitile.view<?x16xf32>, !logitile.view<32x16xf32> -> !logitile.tile<64x32xf32>
    logitile.store %z to %kept at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
    %next = logitile.update_rows(%rows) with (%z) at %zero below 32 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    } bound {
    ^bb0(%value: f32):
      %twice = arith.addf %value, %value : f32
      logitile.yield %twice : f32
    } update {
    ^bb0(%m: f32, %value: f32):
      logitile.yield %m : f32
    } merge {
    ^bb0(%a: f32, %b: f32, %value: f32):
      %both = arith.maxnumf %a, %b : f32
      logitile.yield %both : f32
    }
  }
}
logitile.kernel @not_the_base(%count: index from tokens, %kept: !logitile.view<?x32xf16, column_major> from @kept_z,
                         %out: !logitile.view<?x32xf32, column_major> from @out) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %z = logitile.load %kept at [%row, %zero] : !logitile.view<?x32xf16, column_major> -> !logitile.tile<64x32xf32>
    // expected-error @below {{reads logits that are kept in 16 bits, but not only for the base of their exponential}}
    %square = logitile.map(%z) : (!logitile.tile<64x32xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%value: f32):
      %twice = arith.addf %value, %value : f32
      %both = arith.mulf %twice, %value : f32
      logitile.yield %both : f32
    }
    logitile.store %square to %out at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32, column_major>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 32 kept 32 {
    logitile.buffer @kept_z chunk kept of "z" : !logitile.view<?x32xf16, column_major>
    logitile.buffer @centre_z chunk centre of "z" : !logitile.view<1x?xf32>
  }
}

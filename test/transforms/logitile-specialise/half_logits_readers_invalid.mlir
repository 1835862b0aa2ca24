// RUN: %refused --logitile-specialise %s

// A second sweep reads logits.

logitile.program @p vocab 256 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32, "sum" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero : f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %x = arith.addf %z, %bias : f32
    logitile.yield %x : f32
  } update {
  ^bb0(%m: f32, %sum: f32):
    %z = logitile.input logits "z" : f32
    %next = arith.addf %sum, %z : f32
    logitile.yield %m, %next : f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %both = arith.maxnumf %ma, %mb : f32
    %sum = arith.addf %sa, %sb : f32
    logitile.yield %both, %sum : f32, f32
  }
  logitile.finish @f forward of @s results ["lse" : f32] {
  ^bb0(%m: f32, %sum: f32):
    logitile.yield %sum : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 256 stored 256 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x16xf32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<256x16xf32>
    logitile.buffer @bias call input of "bias" : !logitile.view<256xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x256xf16, column_major>
    logitile.buffer @centre_z chunk centre of "z" : !logitile.view<8x?xf32>
    logitile.buffer @state_m chunk row_state of @s[0] : !logitile.view<1x?xf32>
    logitile.buffer @state_sum chunk row_state of @s[1] : !logitile.view<1x?xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op reads logits 'z' of 16 bits in sweep @s; only gradients know their base}}
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> sweep @s
    }
  }
}

// -----

// A gradient reads the logits beside their base.

logitile.program @p vocab 256 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32, "sum" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero : f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %x = arith.addf %z, %bias : f32
    logitile.yield %x : f32
  } update {
  ^bb0(%m: f32, %sum: f32):
    %z = logitile.input logits "z" : f32
    %next = arith.addf %sum, %z : f32
    logitile.yield %m, %next : f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %both = arith.maxnumf %ma, %mb : f32
    %sum = arith.addf %sa, %sb : f32
    logitile.yield %both, %sum : f32, f32
  }
  logitile.finish @f forward of @s results ["lse" : f32] {
  ^bb0(%m: f32, %sum: f32):
    logitile.yield %sum : f32
  }
  // expected-error @+1 {{'logitile.gradient' op reads logits 'z', which are stored in 16 bits, but not only for the base of their exponential}}
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %x = arith.addf %z, %bias : f32
    %both = arith.mulf %x, %z : f32
    logitile.adjoint logits "z" dense %both
  }
  logitile.schedule tokens [0, 4096) vocab_split 256 stored 256 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x16xf32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<256x16xf32>
    logitile.buffer @bias call input of "bias" : !logitile.view<256xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x256xf16, column_major>
    logitile.buffer @centre_z chunk centre of "z" : !logitile.view<8x?xf32>
    logitile.buffer @state_m chunk row_state of @s[0] : !logitile.view<1x?xf32>
    logitile.buffer @state_sum chunk row_state of @s[1] : !logitile.view<1x?xf32>
    logitile.buffer @lse chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x256xbf16, column_major>
    logitile.run forward {
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}

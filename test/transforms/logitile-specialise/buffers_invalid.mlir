// RUN: %refused --logitile-specialise %s

// A buffer that a template names by its role.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @x call input of "x" : !logitile.view<300x24xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op gives no buffer for 'out' of template @round}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = f32> views {source = @x}
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @x call input of "x" : !logitile.view<300x24xf32>
    logitile.buffer @y call input of "y" : !logitile.view<300x32xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op gives 'out' the buffer @y of '!logitile.view<300x32xf32>', expected '!logitile.view<300x24xf32>'}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = f32> views {source = @x, out = @y}
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @x call input of "x" : !logitile.view<300x24xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op gives 'out' the buffer @x of '!logitile.view<300x24xf32>', expected '!logitile.view<300x24xbf16>'}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = bf16> views {source = @x, out = @x}
    }
  }
}

// -----

// The launch does not give the map of tokens: its role says which buffer it is.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @x call input of "x" : !logitile.view<?x24xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op needs a buffer for token_map, which the schedule does not define}}
      logitile.launch "k" from @round_rows<TM = 64, TD = 8, D = 24, in = f32, acc = f32, out = f32> views {sum = @x, weight = @x, out = @x}
    }
  }
}

// -----

// Buffers that bundles stand for.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    %x = logitile.input token "t" : f32
    logitile.yield %x : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @t call input of "t" : !logitile.view<?xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op needs a buffer for result of @f[0], which the schedule does not define}}
      logitile.launch "k" from @finish<TM = 64> finish @f
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    %x = logitile.input token "t"[1] : f32
    logitile.yield %x : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @known_x call result of @f[0] : !logitile.view<?xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op needs a buffer for input of "t"[1], which the schedule does not define}}
      logitile.launch "k" from @finish<TM = 64> finish @f
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    logitile.adjoint logits "z" dense %z
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x300xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op reads logits 'z', but the schedule has no buffer for weight of "z"}}
      logitile.launch "k" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}

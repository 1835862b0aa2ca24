// RUN: logitile-opt --logitile-specialise --split-input-file --verify-diagnostics=only-expected %s

// Notes point into the embedded skeletons, which is why only the expected diagnostics are compared.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op leaves parameter 'TD' without a value}}
      logitile.launch "k" from @round<TN = 64, D = 24, in = f32, tile = f32, out = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'TM', which is no parameter of the template}}
      logitile.launch "k" from @round<TM = 64, TD = 8, D = 24, in = f32, tile = f32, out = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'V', which the program and its schedule give}}
      logitile.launch "k" from @round<TN = 64, TD = 8, V = 300, D = 24, in = f32, tile = f32, out = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'TN' to 0, which must be positive}}
      logitile.launch "k" from @round<TN = 0, TD = 8, D = 24, in = f32, tile = f32, out = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'TD' to -8, which must be positive}}
      logitile.launch "k" from @round<TN = 64, TD = -8, D = 24, in = f32, tile = f32, out = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'D' to f32; capitals take an integer, small letters a type}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = f32, in = f32, tile = f32, out = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'tile' to 32 : i64; capitals take an integer, small letters a type}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = 32, out = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'tile' to index, which is no integer and no float type}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = index, out = f32>
    }
  }
}

// RUN: %refused --logitile-specialise %s

// Products, and logits that are kept, of a launch whose template has none.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op stores logits, for which template @gradient has no place}}
      logitile.launch "k" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32> store
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op stores logits, but makes none: that needs 'using' and an algorithm}}
      logitile.launch "k" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> store
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op needs 'using' and an algorithm for the products of template @contract_weight}}
      logitile.launch "k" from @contract_weight<TN = 64, TD = 8, TK = 16, D = 24, op = f32, g = f32, out = f32, acc = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names an algorithm, for which template @pack has no place}}
      logitile.launch "k" from @pack<TM = 64, D = 24, in = f32, op = f32> using panels
    }
  }
}

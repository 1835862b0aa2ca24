// RUN: %refused %s

// expected-error @+1 {{'logitile.launch' op expects parent op to be one of 'logitile.run, logitile.loop'}}
logitile.launch "k" from @pack<>

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op gives view 'out' 3 : i64, which is no buffer}}
      logitile.launch "k" from @pack<> views {out = 3}
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op binds 'TM' to "32", which is no integer and no type}}
      "logitile.launch"() <{kernel = "k", source = @pack, bindings = {TM = "32"}}> : () -> ()
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op vocabulary splits [3, 2] are no range [first, end)}}
      logitile.launch "k" from @pack<> vocab_splits [3, 2]
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op vocabulary splits [-1, 2] are no range [first, end)}}
      logitile.launch "k" from @pack<> vocab_splits [-1, 2]
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op vocabulary splits [0, 1, 2] are no range [first, end)}}
      logitile.launch "k" from @pack<> vocab_splits [0, 1, 2]
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{expected an integer or a type for 'TM'}}
      logitile.launch "k" from @pack<TM = >
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{binds 'TM' twice}}
      logitile.launch "k" from @pack<TM = 1, TM = 2>
    }
  }
}

// RUN: %refused %s

// expected-error @+1 {{'logitile.schedule' op expects parent op 'logitile.program'}}
logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.schedule' op covers no number of tokens: [16, 16)}}
  logitile.schedule tokens [16, 16) vocab_split 5 stored 0 {
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.schedule' op covers no number of tokens: [-1, 16)}}
  logitile.schedule tokens [-1, 16) vocab_split 5 stored 0 {
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.schedule' op vocabulary split of -2 vocabulary entries must be positive}}
  logitile.schedule tokens [0, 16) vocab_split -2 stored 0 {
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.schedule' op keeps 6 of 5 vocabulary entries}}
  logitile.schedule tokens [0, 16) vocab_split 5 stored 6 {
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.schedule' op keeps -1 of 5 vocabulary entries}}
  logitile.schedule tokens [0, 16) vocab_split 5 stored -1 {
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'arith.constant' op has no place in a schedule: expected buffer or run}}
    %c = arith.constant 1 : i32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    logitile.run forward {
    }
    // expected-error @+1 {{'logitile.run' op is the second run forward of its schedule}}
    logitile.run forward {
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op lies over @stored_z, which is no earlier buffer}}
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x5xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x5xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-note @+1 {{see existing symbol definition here}}
    logitile.buffer @x chunk input of "x" : !logitile.view<?xf32>
    // expected-error @+1 {{redefinition of symbol named 'x'}}
    logitile.buffer @x call input of "x" : !logitile.view<?xi32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    logitile.run forward {
      logitile.launch "k" from @pack<>
      logitile.loop tokens 4 {
        // expected-error @+1 {{'logitile.launch' op names kernel 'k' a second time}}
        logitile.launch "k" from @pack<>
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 2 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op ends after vocabulary split 4, but a vocabulary of 5 has 3 vocabulary splits of 2 entries}}
      logitile.launch "k" from @pack<> vocab_splits [0, 4]
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op gives 'out' the buffer @y, which the schedule does not define}}
      logitile.launch "k" from @pack<> views {out = @y}
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 2 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op ends after vocabulary split 4, but a vocabulary of 5 has 3 vocabulary splits of 2 entries}}
      logitile.loop vocab_splits 1 from 0 to 4 {
      }
    }
  }
}

// -----

// Passes find buffers by role, owner and number.

logitile.program @p vocab 10 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 10) vocab_split 5 stored 0 {
    logitile.buffer @one call input of "x"[1] : !logitile.view<?xf32>
    logitile.buffer @two call input of "x" : !logitile.view<?xf32>
    // expected-error @+1 {{'logitile.buffer' op holds what @one holds: input of "x"[1]}}
    logitile.buffer @three call input of "x"[1] : !logitile.view<?xf32>
  }
}

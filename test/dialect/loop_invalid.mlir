// RUN: %refused %s

// expected-error @+1 {{'logitile.loop' op expects parent op to be one of 'logitile.run, logitile.loop'}}
logitile.loop tokens 4 {
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op steps by 0}}
      logitile.loop tokens 0 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op steps by -2 vocabulary splits; only loops over tokens may give a number of chunks}}
      logitile.loop vocab_splits -2 from 0 to 5 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op over tokens covers all of them; 'from' is for vocabulary splits}}
      logitile.loop tokens 4 from 8 to 16 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op covers no vocabulary splits: [-1, 4)}}
      logitile.loop vocab_splits 4 from -1 to 4 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      logitile.loop tokens 4 {
        logitile.loop vocab_splits 2 from 0 to 4 {
          // expected-error @+1 {{'logitile.loop' op runs over tokens inside another loop over them}}
          logitile.loop tokens 2 {
          }
        }
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      logitile.loop tokens 4 {
        // expected-error @+1 {{'arith.constant' op has no place in 'logitile.loop': expected loop or launch}}
        %c = arith.constant 1 : i32
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op over vocabulary splits needs 'from' and 'to'}}
      logitile.loop vocab_splits 2 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op covers no vocabulary splits: [2, 2)}}
      logitile.loop vocab_splits 2 from 2 to 2 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op has 'from' without 'to'}}
      "logitile.loop"() <{axis = #logitile<axis vocab_splits>, step = 1 : i64, first = 0 : i64}> ({
      ^bb0:
      }) : () -> ()
    }
  }
}

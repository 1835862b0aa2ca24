// RUN: %refused %s

// expected-error @+1 {{'logitile.loop' op expects parent op to be one of 'logitile.run, logitile.loop'}}
logitile.loop tokens 4 {
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op steps by 0}}
      logitile.loop tokens 0 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op steps by -2 slabs; only loops over tokens may give a number of chunks}}
      logitile.loop slabs -2 from 0 to 5 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op over tokens covers all of them; 'from' is for slabs}}
      logitile.loop tokens 4 from 8 to 16 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op covers no slabs: [-1, 4)}}
      logitile.loop slabs 4 from -1 to 4 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      logitile.loop tokens 4 {
        logitile.loop slabs 2 from 0 to 4 {
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
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
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
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op over slabs needs 'from' and 'to'}}
      logitile.loop slabs 2 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op covers no slabs: [2, 2)}}
      logitile.loop slabs 2 from 2 to 2 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op has 'from' without 'to'}}
      "logitile.loop"() <{axis = #logitile<axis slabs>, step = 1 : i64, first = 0 : i64}> ({
      ^bb0:
      }) : () -> ()
    }
  }
}

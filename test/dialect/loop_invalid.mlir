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
      logitile.loop slabs -2 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op starts from 8; a loop over tokens starts from 0, one over slabs from a slab}}
      logitile.loop tokens 4 from 8 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.loop' op starts from -1; a loop over tokens starts from 0, one over slabs from a slab}}
      logitile.loop slabs 4 from -1 {
      }
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 1 kept 0 {
    logitile.run forward {
      logitile.loop tokens 4 {
        logitile.loop slabs 2 {
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

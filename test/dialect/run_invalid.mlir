// RUN: %refused %s

// expected-error @+1 {{'logitile.run' op expects parent op 'logitile.schedule'}}
logitile.run forward {
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.run' op has phase 'fused'; what is fused runs with the gradient, in run forward or run backward}}
    logitile.run fused {
    }
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'arith.constant' op has no place in 'logitile.run': expected loop or launch}}
      %c = arith.constant 1 : i32
    }
  }
}

// RUN: %refused %s

// expected-error @+1 {{'logitile.program' op vocabulary size -5 must be positive}}
logitile.program @a vocab -5 outputs [] indices [] checked [] {
}

// -----

// expected-error @+1 {{'logitile.program' op sees 6 columns of a vocabulary of 5 entries; expected 1 to 5}}
logitile.program @a vocab 5 columns 6 outputs [] indices [] checked [] {
}

// -----

// expected-error @+1 {{'logitile.program' op counts [1] sweeps; expected two numbers, forward and backward}}
logitile.program @a vocab 5 columns 5 sweeps [1] outputs [] indices [] checked [] {
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'arith.constant' op has no place in a program: expected sweep, finish, gradient or schedule}}
  %c = arith.constant 1.0 : f32
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    logitile.adjoint scalar "s"
  }
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op gives scalar 's' a gradient, which it has already}}
    logitile.adjoint scalar "s"
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 1) vocab_split 5 stored 0 {
  }
  // expected-error @+1 {{'logitile.schedule' op is the second one of program @a}}
  logitile.schedule tokens [1, 2) vocab_split 5 stored 0 {
  }
}

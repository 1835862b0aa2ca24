// RUN: logitile-opt --logitile-differentiate --split-input-file --verify-diagnostics %s

// expected-error @below {{wants the gradient of 'w', which it does not read}}
logitile.loss @unread vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["w"] {
  %a = logitile.input token "a" : f32
  logitile.yield %a : f32
}

// -----

// expected-error @below {{wants the gradient of 'y', which is of 'i32'; only floats have one}}
logitile.loss @integer vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["y"] {
  %y = logitile.input token "y" : i32
  %loss = arith.sitofp %y : i32 to f32
  logitile.yield %loss : f32
}

// -----

// expected-error @below {{has a gradient already}}
logitile.loss @twice vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["a"] {
  %a = logitile.input token "a" : f32
  logitile.gradient {
    logitile.adjoint token "a"
  }
  logitile.yield %a : f32
}

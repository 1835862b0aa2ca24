// RUN: %refused %s

// expected-error @+1 {{'logitile.gradient' op expects parent op to be one of 'logitile.loss, logitile.program'}}
logitile.gradient {
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.gradient' op takes ('f32'); a gradient reads its inputs with 'logitile.input'}}
  logitile.gradient {
  ^bb0(%x: f32):
    logitile.adjoint logits "z" dense %x
  }
}

// -----

logitile.loss @a vocab 5 outputs ["l"] gradient of ["l"] wrt ["z"] {
  %l = arith.constant 1.0 : f32
  logitile.gradient {
  }
  // expected-error @+1 {{'logitile.gradient' op is the second one of loss @a}}
  logitile.gradient {
  }
  logitile.yield %l : f32
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    logitile.adjoint token "t"[0]
    logitile.adjoint token "t"[1]
    // expected-error @+1 {{'logitile.adjoint' op gives token 't'[1] a second gradient}}
    logitile.adjoint token "t"[1]
  }
}

// -----

logitile.loss @a vocab 5 outputs ["l", "m"] gradient of ["l"] wrt ["z"] {
  %l = arith.constant 1.0 : f32
  logitile.gradient {
    // expected-error @+1 {{'logitile.input' op reads cotangent 'm', but the loss wants no gradient of it}}
    %up = logitile.input cotangent "m" : f32
  }
  logitile.yield %l, %l : f32, f32
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["first" : f32] {
    %c = arith.constant 1.0 : f32
    logitile.yield %c : f32
  }
  // expected-error @+1 {{'logitile.gradient' op is relative to @f[0], which is no 'i32' result of a finish}}
  logitile.gradient relative to <first = <@f[0]>, last = <@f[0]>, raised = <@f[0]>> {
  }
}

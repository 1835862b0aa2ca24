// RUN: %refused %s

func.func @a(%d: f32) {
  // expected-error @+1 {{'logitile.adjoint' op expects parent op 'logitile.gradient'}}
  logitile.adjoint logits "z" dense %d
  return
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op gives dense 'p' an index; only token inputs have entries}}
    logitile.adjoint dense "p"[0]
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op index -2 of token 't' is negative}}
    logitile.adjoint token "t"[-2]
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %t = logitile.input token "t" : i32
    // expected-error @+1 {{'logitile.adjoint' op has 1 columns but 0 coefficients}}
    "logitile.adjoint"(%t) <{kind = #logitile<input_kind logits>, name = "z", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> : (i32) -> ()
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op gives cotangent 'loss' a gradient; only inputs of the loss have one}}
    logitile.adjoint cotangent "loss"
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %t = logitile.input token "t" : i32
    %d = logitile.input token "d" : f32
    // expected-error @+1 {{'logitile.adjoint' op gives token 'w'[1] rows, but it has no vocabulary axis}}
    logitile.adjoint token "w"[1] sparse [%t -> %d]
  }
}

// -----

// In a loss, where values may vary.

logitile.loss @a vocab 5 outputs ["l"] gradient of ["l"] wrt ["z"] {
  %l = arith.constant 1.0 : f32
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op is of 'bias', but the loss wants no gradient with respect to it}}
    logitile.adjoint vocab "bias" dense %l
  }
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] gradient of ["l"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %l = arith.constant 1.0 : f32
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op uses 'z' as vocab, but it was logits before}}
    logitile.adjoint vocab "z" dense %l
  }
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] gradient of ["l"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %l = arith.constant 1.0 : f32
  %t = logitile.input token "t" : i32
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op columns and coefficients of 'sparse' must be one per token}}
    logitile.adjoint logits "z" sparse [%t -> %z]
  }
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] gradient of ["l"] wrt ["scale"] {
  %z = logitile.input logits "z" : f32
  %l = arith.constant 1.0 : f32
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op the gradient of scalar 'scale' varies along the vocabulary; it must be one value per token}}
    logitile.adjoint scalar "scale" dense %z
  }
  logitile.yield %l : f32
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %d = logitile.input token "d" : f32
    // expected-error @+1 {{'logitile.adjoint' op has a factor; only the dense gradient of logits may have one}}
    logitile.adjoint vocab "bias" dense %d times %d
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %d = logitile.input token "d" : f32
    // expected-error @+1 {{'logitile.adjoint' op has a factor that is not a result of a finish; factors are read from memory}}
    logitile.adjoint logits "z" dense %d times %d
  }
}
